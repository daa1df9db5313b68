// Lanes in display order, the devices that they belong to, and the transfers between
// those devices.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "gui/model/details.h"
#include "gui/model/raw_model.h"
#include "tracer/format/args.h"

namespace lockstep::gui {

namespace {

/// Maps the trace's device ids to devices.
class Devices {
 public:
  explicit Devices(std::vector<Device>& devices) : devices_(devices) {
    for (const Device& device : devices) {
      numbers_.emplace(device.id, static_cast<int>(numbers_.size()));
    }
  }

  /// Returns a device's index, adding new devices; kHostDevice if the id is negative or
  /// there are too many devices.
  int index(int64_t id, int64_t rank) {
    if (id < 0) return kHostDevice;
    if (const auto found = numbers_.find(id); found != numbers_.end()) {
      return found->second;
    }
    if (devices_.size() >= kMaxDevices) return kHostDevice;
    Device device;
    device.id = id;
    device.name = "device " + std::to_string(id);
    device.rank = static_cast<int>(rank);
    devices_.push_back(std::move(device));
    return numbers_[id] = static_cast<int>(devices_.size() - 1);
  }

 private:
  std::vector<Device>& devices_;
  std::unordered_map<int64_t, int> numbers_;
};

/// Adds the devices that the trace lists, even if they did nothing.
void list_devices(Model& model, Devices& devices) {
  const tracer::Json& meta = meta_of(model);
  const auto listed = meta.find(top::devices);
  if (listed == meta.end() || !listed->is_array()) return;
  for (const tracer::Json& entry : *listed) {
    if (!entry.is_object()) continue;
    const int64_t rank = std::clamp<int64_t>(int_arg(entry, keys::rank), 0, 65'535);
    const int index = devices.index(int_arg(entry, keys::id, kHostDevice), rank);
    const std::string name = string_arg(entry, keys::name);
    if (index != kHostDevice && !name.empty()) model.devices[index].name = name;
  }
}

/// Counts each lane's events, so that their lists take no more memory than needed, and
/// omits empty lanes.
std::vector<uint32_t> lanes_to_show(const RawModel& raw,
                                    std::vector<uint32_t>& counts) {
  counts.assign(raw.lanes.size(), 0);
  for (const Event& event : raw.model.events) ++counts[event.lane];
  std::vector<uint32_t> shown;
  for (uint32_t i = 0; i < raw.lanes.size(); ++i) {
    if (counts[i] > 0) shown.push_back(i);
  }
  const auto key = [&](uint32_t i) {
    const Lane& lane = raw.lanes[i].lane;
    return std::tuple(!lane.is_host(), lane.process_sort, lane.pid, lane.thread_sort,
                      lane.tid);
  };
  std::sort(shown.begin(), shown.end(),
            [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return shown;
}

void place_counters(RawModel& raw) {
  std::vector<Device>& devices = raw.model.devices;
  std::vector<size_t> counts(devices.size());
  const auto device_of = [&](const RawCounter& counter) {
    return raw.lanes[counter.lane].lane.device;
  };
  size_t homeless = 0;
  for (const RawCounter& counter : raw.counters) {
    const int device = device_of(counter);
    if (device == kHostDevice)
      ++homeless;
    else
      ++counts[device];
  }
  for (size_t i = 0; i < devices.size(); ++i) devices[i].memory.reserve(counts[i]);
  for (const RawCounter& counter : raw.counters) {
    const int device = device_of(counter);
    if (device == kHostDevice) continue;
    const int64_t stream = raw.lanes[counter.lane].lane.tid;
    devices[device].memory.push_back(
        {counter.ts, counter.text,
         static_cast<uint64_t>(std::clamp<int64_t>(stream, 0, 2))});
  }
  const auto earlier = [](const auto& a, const auto& b) { return a.ts < b.ts; };
  for (Device& device : devices) {
    if (!std::is_sorted(device.memory.begin(), device.memory.end(), earlier)) {
      std::stable_sort(device.memory.begin(), device.memory.end(), earlier);
    }
  }
  if (homeless > 0) {
    raw.model.problems.push_back(std::to_string(homeless) +
                                 " memory counters do not belong to a device");
  }
}

}  // namespace

void index_lanes(RawModel& raw) {
  Model& model = raw.model;
  Devices devices(model.devices);
  list_devices(model, devices);
  for (RawLane& raw_lane : raw.lanes) {
    const RawProcess& process = raw.processes[raw_lane.process];
    Lane& lane = raw_lane.lane;
    lane.process = process.name;
    lane.process_sort = process.sort;
    lane.rank = static_cast<int>(process.rank < 0 ? raw.rank : process.rank);
    lane.device = devices.index(process.device, lane.rank);
  }
  place_counters(raw);
  std::vector<uint32_t> counts;
  const std::vector<uint32_t> shown = lanes_to_show(raw, counts);
  std::vector<uint32_t> to(raw.lanes.size());
  for (const uint32_t i : shown) {
    to[i] = static_cast<uint32_t>(model.lanes.size());
    model.lanes.push_back(std::move(raw.lanes[i].lane));
    model.lanes.back().events.reserve(counts[i]);
  }
  for (Event& event : model.events) event.lane = to[event.lane];
}

namespace {

/// Computes the cumulative traffic of each port at the end of each transfer.
void count_ports(Model& model) {
  std::vector<uint32_t> by_end(model.copies.size());
  std::iota(by_end.begin(), by_end.end(), 0);
  const auto end = [&](uint32_t i) {
    return model.events[model.copies[i].event].end();
  };
  std::stable_sort(by_end.begin(), by_end.end(),
                   [&](uint32_t a, uint32_t b) { return end(a) < end(b); });
  model.ports.resize(model.devices.size() + 1);
  const auto add = [&](int16_t device, int64_t ts, int64_t in, int64_t out) {
    const bool host = device == kHostDevice;
    auto& points = model.ports[host ? model.devices.size() : device].points;
    const Port::Point last = points.empty() ? Port::Point{} : points.back();
    points.push_back(
        {ts, std::min(last.in + in, kMaxBytes), std::min(last.out + out, kMaxBytes)});
  };
  for (const uint32_t i : by_end) {
    const Copy& copy = model.copies[i];
    add(copy.src, end(i), 0, copy.bytes);
    add(copy.dst, end(i), copy.bytes, 0);
  }
  for (Port& port : model.ports) port.points.shrink_to_fit();
}

}  // namespace

void index_copies(RawModel& raw) {
  Model& model = raw.model;
  Devices devices(model.devices);
  const auto index = [&](int64_t id) {
    return static_cast<int16_t>(devices.index(id, 0));
  };
  model.copies.reserve(raw.copies.size());
  for (const RawCopy& copy : raw.copies) {
    model.copies.push_back({copy.event, index(copy.src), index(copy.dst), copy.why,
                            std::min(copy.bytes, kMaxBytes)});
  }
  count_ports(model);
}

}  // namespace lockstep::gui

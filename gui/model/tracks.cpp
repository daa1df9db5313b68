#include "gui/model/tracks.h"

#include <algorithm>

#include "gui/model/details.h"
#include "gui/model/memory.h"
#include "gui/model/state.h"

namespace lockstep::gui {

namespace {

constexpr size_t kPointsPerSum = 16;

/// Returns the op that caused an event, or the event itself if there is none.
uint32_t op_of(const Model& model, uint32_t event) {
  for (uint32_t i = event; i != kNoEvent; i = model.events[i].parent) {
    if (model.events[i].what() == Kind::op) return i;
  }
  return event;
}

/// Returns the op of the first task of a device that starts at `ts`.
uint32_t op_starting(const Model& model, size_t device, int64_t ts) {
  for (const Lane& lane : model.lanes) {
    if (lane.device != static_cast<int>(device)) continue;
    const auto at = std::lower_bound(
        lane.events.begin(), lane.events.end(), ts,
        [&](uint32_t event, int64_t t) { return model.events[event].ts < t; });
    for (auto i = at; i != lane.events.end() && model.events[*i].ts == ts; ++i) {
      if (model.events[*i].is_task()) return op_of(model, *i);
    }
  }
  return kNoEvent;
}

bool has_work_for(const Model& model, const Event& op, size_t device) {
  constexpr uint32_t kLooked = 256;
  const uint32_t end = std::min(
      {op.order + kLooked, op.last, static_cast<uint32_t>(model.program.size())});
  for (uint32_t place = op.order; place < end; ++place) {
    const Event& event = model.events[model.program[place]];
    if (event.is_task() && model.lanes[event.lane].device == static_cast<int>(device)) {
      return true;
    }
  }
  return false;
}

/// Returns the only op with work for the device in which a host thread is at `ts`.
uint32_t op_queueing(const Model& model, size_t device, int64_t ts) {
  uint32_t only = kNoEvent;
  for (const Lane& lane : model.lanes) {
    if (!lane.is_host() || lane.rank != model.devices[device].rank) continue;
    const uint32_t event = running_on(model, lane, ts);
    if (event == kNoEvent) continue;
    const uint32_t op = op_of(model, event);
    if (model.events[op].what() != Kind::op) continue;
    if (!has_work_for(model, model.events[op], device)) continue;
    if (only != kNoEvent) return kNoEvent;
    only = op;
  }
  return only;
}

}  // namespace

Growth growth_at(const Model& model, size_t device, const MemorySeries& series,
                 size_t point, bool as_queued) {
  Growth growth;
  if (point == 0 || series.total(point) <= series.total(point - 1)) return growth;
  const Memory before = series.at(point - 1), now = series.at(point);
  for (size_t i = 0; i < now.bytes.size(); ++i) {
    const int64_t bytes = now.bytes[i] - before.bytes[i];
    if (bytes > growth.bytes) growth.bytes = bytes, growth.category = i;
  }
  const int64_t when = series.when(point);
  growth.op =
      as_queued ? op_queueing(model, device, when) : op_starting(model, device, when);
  return growth;
}

// ---- Devices that run a kernel

BusySeries::BusySeries(const Model& model) {
  struct Edge {
    int64_t ts;
    int change;
  };
  std::vector<std::vector<std::pair<int64_t, int64_t>>> ran(model.devices.size());
  for (const Lane& lane : model.lanes) {
    if (lane.is_host()) continue;
    for (const uint32_t index : lane.events) {
      const Event& event = model.events[index];
      if (event.what() != Kind::kernel || event.dur == 0) continue;
      if (is_memory_task(model, event)) continue;
      ran[lane.device].emplace_back(event.ts, event.end());
    }
  }
  std::vector<Edge> edges;
  for (auto& times : ran) {
    std::sort(times.begin(), times.end());
    int64_t end = INT64_MIN;
    for (const auto& [from, to] : times) {
      if (from > end) {
        if (end != INT64_MIN) edges.push_back({end, -1});
        edges.push_back({from, 1});
      }
      end = std::max(end, to);
    }
    if (end != INT64_MIN) edges.push_back({end, -1});
    times = {};
  }
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.ts < b.ts; });
  int count = 0;
  double sum = 0;
  for (size_t i = 0; i < edges.size();) {
    const int64_t ts = edges[i].ts;
    if (!points_.empty()) {
      sum += static_cast<double>(count) *
             static_cast<double>(ts - static_cast<int64_t>(points_.back().ts));
    }
    for (; i < edges.size() && edges[i].ts == ts; ++i) count += edges[i].change;
    if (points_.size() % kPointsPerSum == 0) sums_.push_back(sum);
    points_.push_back({static_cast<uint64_t>(ts), static_cast<uint64_t>(count)});
  }
  points_.shrink_to_fit();
  index_.build(std::span<const Point>(points_), time_of);
}

size_t BusySeries::after(int64_t ts) const {
  return index_.until(ts, std::span<const Point>(points_), time_of);
}

int BusySeries::count(int64_t ts) const {
  const size_t later = after(ts);
  return later == 0 ? 0 : static_cast<int>(points_[later - 1].count);
}

std::vector<double> BusySeries::device_times(std::span<const int64_t> times) const {
  const std::span<const Point> points(points_);
  const std::vector<size_t> later = index_.until_each(times, points, time_of);
  for (const size_t i : later) {
    if (i == 0) continue;
    __builtin_prefetch(&sums_[(i - 1) / kPointsPerSum]);
    prefetch_lines(&points_[(i - 1) / kPointsPerSum * kPointsPerSum]);
  }
  std::vector<double> sums;
  for (size_t i = 0; i < times.size(); ++i) {
    sums.push_back(device_time(times[i], later[i]));
  }
  return sums;
}

double BusySeries::device_time(int64_t ts, size_t later) const {
  if (later == 0) return 0;
  size_t i = (later - 1) / kPointsPerSum * kPointsPerSum;
  double sum = sums_[i / kPointsPerSum];
  for (; i < later; ++i) {
    const int64_t end = i + 1 < later ? static_cast<int64_t>(points_[i + 1].ts) : ts;
    sum += static_cast<double>(points_[i].count) *
           static_cast<double>(end - static_cast<int64_t>(points_[i].ts));
  }
  return sum;
}

// ---- Ports

RateSeries::RateSeries(const std::vector<Transfer>& transfers) {
  struct Edge {
    int64_t ts;
    double slope;   ///< change of bytes per ns
    int64_t bytes;  ///< of a transfer that ends
    int running;
  };
  std::vector<Edge> edges;
  for (const Transfer& transfer : transfers) {
    const int64_t end = std::max(transfer.end, transfer.begin + 1);
    const double slope =
        static_cast<double>(transfer.bytes) / static_cast<double>(end - transfer.begin);
    edges.push_back({transfer.begin, slope, 0, 1});
    edges.push_back({end, -slope, transfer.bytes, -1});
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.ts < b.ts; });
  double slope = 0, bytes = 0;
  int64_t ended = 0;
  int running = 0;
  for (size_t i = 0; i < edges.size();) {
    const int64_t ts = edges[i].ts;
    if (!points_.empty()) bytes += slope * static_cast<double>(ts - points_.back().ts);
    for (; i < edges.size() && edges[i].ts == ts; ++i) {
      slope += edges[i].slope;
      ended += edges[i].bytes;
      running += edges[i].running;
    }
    if (running == 0) slope = 0, bytes = static_cast<double>(ended);  // no rounding
    points_.push_back({ts, bytes});
  }
  index_.build(std::span<const Point>(points_), time_of);
}

size_t RateSeries::after(int64_t ts) const {
  return index_.until(ts, std::span<const Point>(points_), time_of);
}

std::vector<double> RateSeries::bytes_each(std::span<const int64_t> times) const {
  const std::vector<size_t> after =
      index_.until_each(times, std::span<const Point>(points_), time_of);
  std::vector<double> bytes_by;
  for (size_t i = 0; i < times.size(); ++i) {
    bytes_by.push_back(bytes(times[i], after[i]));
  }
  return bytes_by;
}

double RateSeries::bytes(int64_t ts, size_t after) const {
  if (after == 0) return 0;
  const Point& from = points_[after - 1];
  if (after == points_.size()) return from.bytes;
  const Point& to = points_[after];
  return from.bytes + (to.bytes - from.bytes) * static_cast<double>(ts - from.ts) /
                          static_cast<double>(to.ts - from.ts);
}

std::vector<PortSeries> port_series(const Model& model) {
  std::vector<std::vector<RateSeries::Transfer>> out(model.devices.size()), in = out;
  for (const Copy& copy : model.copies) {
    const Event& event = model.events[copy.event];
    const RateSeries::Transfer transfer{event.ts, event.end(), copy.bytes};
    if (copy.src != kHostDevice) out[copy.src].push_back(transfer);
    if (copy.dst != kHostDevice) in[copy.dst].push_back(transfer);
  }
  std::vector<PortSeries> ports;
  for (size_t i = 0; i < out.size(); ++i) {
    ports.push_back({RateSeries(out[i]), RateSeries(in[i])});
  }
  return ports;
}

}  // namespace lockstep::gui

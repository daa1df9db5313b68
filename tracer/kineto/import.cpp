// Order: events on host threads first (steps, operators, launches), then device events,
// each of which looks up its launch by `correlation` and uses the enclosing operator.
// (`External id` would also work, but older files number launches separately.)
#include "tracer/kineto/kineto.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "tracer/format/args.h"
#include "tracer/format/lanes.h"
#include "tracer/kineto/collective_launches.h"
#include "tracer/kineto/lane_names.h"
#include "tracer/kineto/names.h"
#include "tracer/kineto/tasks.h"

namespace lockstep::tracer {

namespace {

constexpr int64_t kMaxDevice = 98;  ///< keeps pid 100·rank + 1 + device within the rank
constexpr int64_t kHighestRank = 65'535;
constexpr int kMostNested = 32;  ///< preceding phases searched for one still running

class KinetoImport {
 public:
  KinetoImport(const Trace& foreign, int64_t rank) : foreign_(foreign) {
    const Json& info = object_arg(foreign.other, top::distributed);
    if (rank == kNone) rank = int_arg(info, top::rank);
    rank_ = std::clamp<int64_t>(rank, 0, kHighestRank);
    host_ = 100 * rank_;
  }

  Trace take() {
    find_steps();
    for (const Event& event : foreign_.events) {
      if (event.ph != 'X' || is_device_event(event)) continue;
      collectives_.take(event);
      add_host_event(event);
    }
    if (steps_.empty()) add_whole_step();
    number_steps();
    link_backward();
    for (const Event& event : foreign_.events) {
      if (event.ph == 'X' && is_device_event(event)) collectives_.count(event);
    }
    for (const Event& event : foreign_.events) {
      if (event.ph == 'X' && is_device_event(event)) add_task(event);
      if (event.ph == 'i') add_memory(event);
    }
    add_names();
    describe();
    sort_events(trace_.events);
    return std::move(trace_);
  }

 private:
  struct Span {
    int64_t ts, end, number;
    std::string name;
  };
  static bool is_device_event(const Event& event) {
    return category_of_kineto(event.cat) == categories::kernel;
  }

  /// Times are relative to the first event; the main thread is the one with the steps.
  void find_steps() {
    bool first = true;
    for (const Event& event : foreign_.events) {
      const bool known = !category_of_kineto(event.cat).empty();
      if (event.ph != 'X' || !known) continue;
      if (std::exchange(first, false)) origin_ = event.ts;
      const int64_t number = profiler_step_number(event.name);
      if (number < 0 || is_device_event(event)) continue;
      thread_of(event);
      steps_.push_back({event.ts - origin_, event.end() - origin_, number, ""});
    }
    if (first) throw std::runtime_error(why_no_profile(foreign_));
  }

  int64_t thread_of(const Event& event) {
    const auto next = static_cast<int64_t>(threads_.size());
    return threads_.try_emplace(lane_of(event), next).first->second;
  }

  Event& add(const char* cat, const Event& from, int64_t pid, int64_t tid) {
    Event& event = trace_.events.emplace_back();
    event.cat = cat, event.name = from.name;
    event.pid = pid, event.tid = tid;
    event.ts = from.ts - origin_, event.dur = std::max<int64_t>(0, from.dur);
    event.id = static_cast<int64_t>(trace_.events.size()) - 1;
    return event;
  }

  void add_host_event(const Event& from) {
    std::string_view cat = category_of_kineto(from.cat);
    if (cat.empty() || cat == categories::sync) {  // cuda_sync is on streams
      ++left_out_[from.cat];
      return;
    }
    const int64_t ts = from.ts - origin_;
    const bool step = profiler_step_number(from.name) >= 0;
    const bool annotates = from.is("user_annotation") || from.is("Operator");
    const std::string_view phase =
        annotates ? phase_of_annotation(from.name) : std::string_view();
    if (from.name.find("Synchronize") != from.name.npos && cat == categories::call) {
      cat = categories::sync;
    }
    if (step || (!phase.empty() && lies_in_step(ts, ts + from.dur)))
      cat = categories::phase;
    const size_t place = trace_.events.size();
    Event& event = add(std::string(cat).c_str(), from, host_, thread_of(from));
    if (step) {
      event.name = names::step;
      event.step = profiler_step_number(from.name);
      event.args = {{keys::kind, values::train}, {keys::imported, true}};
    } else if (cat == categories::phase) {
      event.name = phase;
      phases_.push_back({ts, event.end(), 0, event.name});
    } else if (cat == categories::sync) {
      const bool all = from.name.find("Device") != from.name.npos;
      event.args[keys::why] = all ? reasons::device : reasons::stream;
    }
    if (cat == categories::op) {
      const Value dims = from.args.find("Input Dims");
      if (dims.is_array()) event.args[keys::shapes] = dims.json();
      if (from.args.contains("Call stack")) ++left_out_["Call stack"];
    }
    event.args[keys::rank] = rank_;
    remember(from, place);
  }

  /// Remembers an operator, for the launches in it and for flows; for a launch,
  /// remembers the operator that encloses it.
  void remember(const Event& from, size_t place) {
    auto& open = open_[lane_of(from)];
    while (!open.empty() && trace_.events[open.back()].end() <= from.ts - origin_) {
      open.pop_back();
    }
    Event& event = trace_.events[place];
    if (event.is(categories::op)) {
      open.push_back(place);
      starts_[{from.pid, from.tid, from.ts}] = place;  // the innermost one is kept
    }
    const int64_t correlation = int_arg(from.args, keys::correlation, kNone);
    if (correlation < 0 || event.is(categories::op)) return;
    event.args[keys::correlation] = correlation;
    const size_t op = open.empty() ? place : open.back();
    launches_.emplace(correlation, std::pair(place, op));
  }

  bool lies_in_step(int64_t ts, int64_t end) const {
    return std::any_of(steps_.begin(), steps_.end(), [&](const Span& step) {
      return step.ts <= ts && end <= step.end;
    });
  }

  /// If there is no ProfilerStep, the whole recording is treated as one step.
  void add_whole_step() {
    int64_t end = 0;
    for (const Event& event : trace_.events) end = std::max(end, event.end());
    for (const Event& event : foreign_.events) {
      if (event.ph != 'X' || !is_device_event(event)) continue;
      end = std::max(end, event.end() - origin_);
    }
    Event whole;
    whole.name = names::step, whole.ts = origin_, whole.dur = end;
    Event& step = add(categories::phase, whole, host_, 0);
    step.step = 0;
    step.args = {
        {keys::kind, values::train}, {keys::imported, true}, {keys::rank, rank_}};
    steps_.push_back({0, end, 0, ""});
    no_steps_ = true;
  }

  /// Returns the step in which the host is; kNone before, between and after the steps.
  int64_t step_at(int64_t ts) const {
    const auto after =
        std::upper_bound(steps_.begin(), steps_.end(), ts,
                         [](int64_t time, const Span& step) { return time < step.ts; });
    if (after == steps_.begin() || (after - 1)->end <= ts) return kNone;
    return (after - 1)->number;
  }

  void number_steps() {
    for (Event& event : trace_.events) {
      if (event.step == kNone) event.step = step_at(event.ts);
      if (event.step == kNone) event.args[keys::imported] = true;
    }
  }

  void link_backward() {
    std::unordered_map<int64_t, size_t> forward;
    for (const Event& flow : foreign_.events) {
      if (flow.ph != 's' || !flow.is("fwdbwd")) continue;
      const auto op = starts_.find({flow.pid, flow.tid, flow.ts});
      if (op != starts_.end()) forward.emplace(flow.id, op->second);
    }
    for (const Event& flow : foreign_.events) {
      if (flow.ph != 'f' || !flow.is("fwdbwd")) continue;
      const auto op = starts_.find({flow.pid, flow.tid, flow.ts});
      const auto from = forward.find(flow.id);
      if (op == starts_.end() || from == forward.end()) continue;
      trace_.events[op->second].fwd = trace_.events[from->second].id;
    }
  }

  int64_t pid_of_device(int64_t device) {
    if (device < 0 || device > kMaxDevice) {
      throw std::runtime_error(fmt::format(
          "names device {}: only 0 to {} can be imported", device, kMaxDevice));
    }
    devices_.emplace(device, fmt::format("GPU {}", device));
    return host_ + 1 + device;
  }

  void add_task(const Event& from) {
    const Args& given = from.args;
    const int64_t device =
        int_arg(given, keys::device, int_arg(given, "inDevice", from.pid));
    const int64_t stream = int_arg(given, keys::stream, from.tid);
    const MemcpyWay way = memcpy_way(from.name);
    const bool collective = is_collective_kernel(from.name.view());
    const int64_t src = way == MemcpyWay::to_device ? kHost
                        : way == MemcpyWay::to_host ? device
                                                    : int_arg(given, "fromDevice", -1);
    const int64_t dst = way == MemcpyWay::to_host     ? kHost
                        : way == MemcpyWay::to_device ? device
                                                      : int_arg(given, "toDevice", -1);
    const bool peers = way == MemcpyWay::between_devices && src >= 0 && src != dst;
    const bool copies =
        way == MemcpyWay::to_device || way == MemcpyWay::to_host || (peers && dst >= 0);
    const int64_t pid = pid_of_device(copies && dst >= 0 ? dst : device);
    Event& task = add(collective ? categories::collective
                      : copies   ? categories::copy
                                 : categories::kernel,
                      from, pid, stream);
    task.args[keys::rank] = rank_;
    if (copies && dst == kHost) {  // on the receiver's lane
      task.pid = host_;
      task.tid = thread_of_arrivals(device, stream);
      task.args[keys::stream] = stream;
    } else {
      task.args[keys::device] = pid - host_ - 1;
      task.args[keys::stream] = stream;
      streams_[{pid, stream}];
    }
    if (copies) {
      task.args[keys::src] = src == kHost ? Json(values::host) : Json(src);
      task.args[keys::dst] = dst == kHost ? Json(values::host) : Json(dst);
      task.args[keys::why] = src == kHost   ? reasons::h2d
                             : dst == kHost ? reasons::d2h
                                            : reasons::p2p;
    }
    const int64_t bytes = int_arg(given, keys::bytes, -1);
    if (bytes >= 0) task.args[keys::bytes] = bytes;
    if (collective) name_collective(from, collectives_.of(from), task);
    link_launch(from, task);
    if (task.op == kNone || task.step == kNone || bytes < 0) {
      task.args[keys::imported] = true;
    }
  }

  int64_t thread_of_arrivals(int64_t device, int64_t stream) {
    const size_t threads = std::max<size_t>(1, threads_.size());
    const auto next = static_cast<int64_t>(threads + arrivals_.size());
    return arrivals_.try_emplace({device, stream}, next).first->second;
  }

  void link_launch(const Event& from, Event& task) {
    const int64_t correlation = int_arg(from.args, keys::correlation, kNone);
    task.step = step_at(task.ts);
    if (correlation < 0) return;
    task.args[keys::correlation] = correlation;
    const auto found = launches_.find(correlation);
    if (found == launches_.end()) return;
    const Event& launch = trace_.events[found->second.first];
    task.op = trace_.events[found->second.second].id;
    task.step = launch.step;  // kNone for what was launched outside the steps
    const std::string phase = phase_at(launch.ts);
    if (!phase.empty()) task.args[keys::phase] = phase;
  }

  /// Returns the phase that started last of those still running, on any thread.
  std::string phase_at(int64_t ts) const {
    auto phase =
        std::upper_bound(phases_.begin(), phases_.end(), ts,
                         [](int64_t time, const Span& span) { return time < span.ts; });
    for (int i = 0; i < kMostNested && phase != phases_.begin(); ++i) {
      --phase;
      if (ts <= phase->end) return phase->name;
    }
    return {};
  }

  /// `[memory]`: the memory allocated on a device from this time on.
  void add_memory(const Event& from) {
    const int64_t total = int_arg(from.args, "Total Allocated", -1);
    const int64_t device = int_arg(from.args, "Device Id", -1);
    if (from.name != "[memory]" || int_arg(from.args, "Device Type") != 1) return;
    if (total < 0 || device < 0 || from.ts < origin_) return;
    Event& counter = add(categories::memory, from, pid_of_device(device), 0);
    counter.ph = 'C', counter.name = names::memory;
    counter.id = kNone;
    counter.args["other"] = total;
    streams_[{counter.pid, 0}];
  }

  void name_lane(const char* what, int64_t pid, int64_t tid, const std::string& text,
                 Json more = Json::object()) {
    Event& name = trace_.events.emplace_back();
    name.ph = 'M', name.name = what, name.pid = pid, name.tid = tid;
    name.args = std::move(more);
    name.args[keys::name] = text;
  }

  void add_names() {
    name_lane(names::process_name, host_, 0, fmt::format("rank {} host", rank_),
              {{keys::rank, rank_}});
    const LaneNames given(foreign_);
    for (const auto& [lane, tid] : threads_) {
      name_lane(names::thread_name, host_, tid, given.of(lane));
    }
    if (threads_.empty()) name_lane(names::thread_name, host_, 0, "main");
    for (const auto& [from, tid] : arrivals_) {
      name_lane(names::thread_name, host_, tid,
                fmt::format("from GPU {}, stream {}", from.first, from.second));
    }
    for (const auto& [device, name] : devices_) {
      name_lane(names::process_name, host_ + 1 + device, 0, name,
                {{keys::rank, rank_}, {keys::device, device}});
    }
    for (const auto& [lane, unused] : streams_) {
      name_lane(names::thread_name, lane.pid, lane.tid,
                fmt::format("stream {}", lane.tid), {{keys::stream, lane.tid}});
    }
  }

  void describe() {
    Json devices = Json::array();
    for (const auto& [device, name] : devices_) {
      devices.push_back({{keys::id, device}, {keys::name, name}, {keys::rank, rank_}});
    }
    if (devices.empty())
      devices.push_back({{keys::id, 0}, {keys::name, "none"}, {keys::rank, rank_}});
    const std::string clock = string_arg(foreign_.lockstep, top::clock);
    trace_.lockstep = {
        {top::format, 1},
        {top::clock, clock == values::emulated ? clock : values::measured},
        {top::mode, "imported"},
        {top::devices, std::move(devices)},
        {top::steps, steps_.size()}};
    const int64_t base = int_arg(foreign_.other, "baseTimeNanoseconds");
    int64_t origin = 0;
    if (__builtin_add_overflow(base, origin_, &origin)) origin = origin_;
    trace_.lockstep[top::rank_clock] = {{"boot_id", "imported"}, {"origin_ns", origin}};
    Json left_out = Json::object();
    for (const auto& [cat, count] : left_out_) left_out[cat] = count;
    trace_.lockstep[top::imported] = {
        {"from", "torch.profiler"},
        {"left_out", std::move(left_out)},
        {"steps", no_steps_ ? "no ProfilerStep: the whole recording counts as one"
                            : "ProfilerStep#n"},
        {"unknown", {"sources", "deps", "for", "model", "batch", "input_bytes"}}};
    const Json& info = object_arg(foreign_.other, top::distributed);
    trace_.other[top::distributed] = info;
    trace_.other[top::distributed][top::rank] = rank_;
  }

  const Trace& foreign_;
  Trace trace_;
  int64_t rank_ = 0, host_ = 0, origin_ = 0;
  bool no_steps_ = false;
  std::vector<Span> steps_, phases_;
  std::map<LaneKey, int64_t> threads_;  ///< foreign thread → our tid
  std::map<std::pair<int64_t, int64_t>, int64_t> arrivals_;
  std::map<LaneKey, std::vector<size_t>> open_;  ///< operators that are still running
  std::map<std::tuple<int64_t, int64_t, int64_t>, size_t> starts_;
  std::unordered_map<int64_t, std::pair<size_t, size_t>> launches_;
  CollectiveLaunches collectives_;
  std::map<int64_t, std::string> devices_;
  std::map<LaneKey, bool> streams_;
  std::map<std::string, int64_t> left_out_;
};

}  // namespace

Trace import_kineto(const Trace& foreign, int64_t rank) {
  if (foreign.lockstep.contains(top::format)) {
    throw std::runtime_error("is already a lockstep trace");
  }
  return KinetoImport(foreign, rank).take();
}

}  // namespace lockstep::tracer

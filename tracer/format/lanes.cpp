#include "tracer/format/lanes.h"

#include <set>

namespace lockstep::tracer {

namespace {

void read_place(const Json& args, Lane& lane) {
  lane.rank = int_arg(args, "rank", lane.rank);
  lane.device = int_arg(args, "device", lane.device);
  if (lane.device < 0) lane.device = kHost;
}

}  // namespace

Lanes::Lanes(const Trace& trace) {
  std::set<int64_t> hosts;  // pids whose rank was read from their first event
  for (const Event& event : trace.events) {
    if (event.ph == 'M') take_metadata(event);
    if (event.ph != 'M') lanes_.try_emplace(lane_of(event));
    if (is_task(event)) {
      take_task(event);
    } else if (event.ph == 'X' && hosts.insert(event.pid).second) {
      Lane& host = processes_[event.pid];
      host.rank = int_arg(event.args, "rank", host.rank);
    }
  }
  for (auto& [key, lane] : lanes_) {
    const Lane& process = processes_[key.pid];
    lane.process = process.process;
    lane.process_sort = process.process_sort;
    lane.rank = process.rank;
    lane.device = process.device;
  }
}

void Lanes::take_metadata(const Event& event) {
  const auto name = [&] { return string_arg(event.args, "name"); };
  const auto sort = [&] { return int_arg(event.args, "sort_index"); };
  if (event.name == "process_name" || event.name == "process_sort_index") {
    Lane& process = processes_[event.pid];
    if (event.name == "process_name") process.process = name();
    if (event.name == "process_sort_index") process.process_sort = sort();
    read_place(event.args, process);
  } else if (event.name == "thread_name" || event.name == "thread_sort_index") {
    Lane& lane = lanes_[lane_of(event)];
    if (event.name == "thread_name") lane.thread = name();
    if (event.name == "thread_sort_index") lane.thread_sort = sort();
    lane.stream = int_arg(event.args, "stream", lane.stream);
  }
}

/// A pid is a host or a device as a whole, so one task tells for all its lanes.
void Lanes::take_task(const Event& event) {
  read_place(event.args, processes_[event.pid]);
  Lane& lane = lanes_[lane_of(event)];
  lane.stream = int_arg(event.args, "stream", lane.stream);
}

}  // namespace lockstep::tracer

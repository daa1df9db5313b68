#include "tracer/analysis/device_times.h"

#include <map>
#include <tuple>
#include <utility>

#include "tracer/analysis/spans.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {

namespace {

struct DeviceSpans {
  DeviceTimes times;
  Spans computing, communicating, either, memory, any;

  void take(const Event& task) {
    const auto add = [&](Spans& spans) { spans.add(task.ts, task.end()); };
    add(any);
    const bool copies = task.is(categories::copy) || is_memcpy(task);
    if (copies || is_memset(task)) {
      ++(copies ? times.copies : times.memsets);
      return add(memory);
    }
    const bool communicates = task.is(categories::collective);
    ++(communicates ? times.collectives : times.kernels);
    add(communicates ? communicating : computing);
    add(either);
  }

  DeviceTimes take_times() {
    times.recorded = any.extent();
    times.computing = computing.covered();
    times.communicating = communicating.covered();
    times.both = times.computing + times.communicating - either.covered();
    times.memory = memory.covered();
    times.idle = times.recorded - any.covered();
    return times;
  }
};

}  // namespace

std::vector<DeviceTimes> device_times(const Trace& trace, const Lanes& lanes) {
  std::map<std::pair<int64_t, int64_t>, DeviceSpans> devices;  // by rank and device
  for (const Event& task : trace.events) {
    if (!is_task(task)) continue;
    const Lane& lane = lanes.of(task);
    const int64_t device = lane.is_host() ? copy_facts(task).src : lane.device;
    if (device >= 0) devices[{lane.rank, device}].take(task);
  }
  std::vector<DeviceTimes> times;
  for (auto& [place, spans] : devices) {
    times.push_back(spans.take_times());
    std::tie(times.back().rank, times.back().device) = place;
  }
  return times;
}

}  // namespace lockstep::tracer

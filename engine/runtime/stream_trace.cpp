#include "engine/runtime/stream_trace.h"

#include <algorithm>
#include <string_view>

#include "engine/runtime/device_context.h"
#include "tracer/format/keys.h"

namespace lockstep::runtime {
namespace keys = tracer::keys;
namespace {

/// Returns the events of other streams that the task waited for, each once. The order
/// within its own stream is implied.
std::vector<int64_t> deps_of(const Task& task, const Stream* own) {
  std::vector<int64_t> deps;
  for (const EventPtr& event : task.waits) {
    for (const TraceEnd& end : event->ends()) {
      const bool known = std::find(deps.begin(), deps.end(), end.id) != deps.end();
      if (end.stream != own && !known) deps.push_back(end.id);
    }
  }
  return deps;
}

}  // namespace

TaskTimer::TaskTimer(const Task& task) : on_(task.recorded()) {
  if (!on_) return;
  cpu_start_ = tracer::thread_cpu_ns();
  start = tracer::now_ns();
}

void TaskTimer::stop() {
  if (!on_) return;
  end = tracer::now_ns();
  cpu = tracer::thread_cpu_ns() - cpu_start_;
}

/// Fills in the lane of the task's event. Returns the events that end with the task.
std::vector<TraceEnd> Stream::describe(Task& task) {
  const bool on_host = task.host_lane >= 0;
  task.record.device = on_host ? -1 : device_.device().trace_id();
  task.record.rank = tracer::current_rank();
  task.record.lane = on_host ? task.host_lane : static_cast<int>(kind_);
  if (!task.recorded()) return {};
  task.ordered = tracer::now_ns();
  task.waits.insert(task.waits.end(), untraced_waits_.begin(), untraced_waits_.end());
  untraced_waits_.clear();
  return {{task.record.id, this}};
}

int64_t Stream::ready_time(const Task& task) const {
  int64_t ready = std::max(task.enqueued, last_end_);
  for (const EventPtr& event : task.waits) ready = std::max(ready, event->ended());
  return ready;
}

/// Returns the end time of a task that has run or was skipped.
int64_t Stream::end_time(const Task& task) const {
  return task.recorded() ? task.record.ts + task.record.dur : ready_time(task);
}

void Stream::record(Task& task, int64_t start, int64_t end, int64_t cpu) {
  task.record.ts = start;
  task.record.dur = end - start;
  task.args.emplace_back(keys::queued_us,
                         static_cast<double>(start - ready_time(task)) / 1e3);
  last_end_ = end;
  task.args.emplace_back(keys::memory_counters, task.ordered);  // see collect.cpp
  task.args.emplace_back(keys::cpu_us, static_cast<double>(cpu) / 1e3);
  if (task.record.cat == std::string_view("copy")) {
    task.args.push_back(tracer::Arg::integers(keys::shape, task.shape));
  }
  tracer::append(task.record, task.args, deps_of(task, this));
}

}  // namespace lockstep::runtime

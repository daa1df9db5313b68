#include "tracer/record/collect.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tracer/format/keys.h"

namespace lockstep::tracer {
namespace {

/// The time during which the device worked for one event (ns).
struct Measured {
  int64_t begin = 0, end = 0;
  int64_t busy = 0;  ///< time during which at least one activity ran
  size_t activities = 0;
  std::vector<std::string> kernels;  ///< names, each once, in the order of their starts
};

/// Measures the activities of one event. There must be at least one.
Measured measure(std::vector<DeviceActivity> activities) {
  std::sort(activities.begin(), activities.end(),
            [](auto& a, auto& b) { return a.begin < b.begin; });
  const int64_t begin = activities.front().begin;
  Measured all{begin, begin, 0, activities.size(), {}};
  std::set<std::string_view> seen;
  for (const DeviceActivity& one : activities) {
    if (one.kernel && seen.insert(one.kernel).second) all.kernels.push_back(one.kernel);
    all.busy += std::max<int64_t>(0, one.end - std::max(all.end, one.begin));
    all.end = std::max(all.end, one.end);
  }
  return all;
}

/// A kernel, copy or collective. Once the task has been placed, `event`
/// holds the new times; `old_begin` and `old_end` hold those of the marks.
struct RetimedTask {
  Event* event = nullptr;
  int64_t old_begin = 0, old_end = 0;
  RetimedTask* previous = nullptr;    ///< on the same stream
  RetimedTask* collective = nullptr;  ///< set for messages: the enclosing event
  std::vector<RetimedTask*> deps;
  int64_t latest_end = INT64_MAX;  ///< a host wait or a successor ended by this time
  std::optional<Measured> measured;
};

class Retiming {
 public:
  Retiming(std::vector<Event>& events, const std::vector<DeviceActivity>& activities) {
    find_tasks(events);
    find_order();
    attach(activities);
    find_latest_ends(events);
  }

  void place() {
    for (RetimedTask& task : tasks_) {
      if (task.collective) {
        follow(task);
      } else {
        place(task);
      }
    }
  }

 private:
  void find_tasks(std::vector<Event>& events) {
    std::vector<Event*> in_order;
    for (Event& event : events) {
      by_event_id_[event.id] = &event;
      const bool runs = event.is(categories::kernel) || event.is(categories::copy) ||
                        event.is(categories::recv) || event.is(categories::collective);
      if (event.ph == 'X' && runs) in_order.push_back(&event);
    }
    std::sort(in_order.begin(), in_order.end(), [](const Event* a, const Event* b) {
      return a->ts != b->ts ? a->ts < b->ts : a->id < b->id;
    });
    for (Event* event : in_order) {
      tasks_.push_back(
          {.event = event, .old_begin = event->ts, .old_end = event->end()});
    }
    for (RetimedTask& task : tasks_) by_id_[task.event->id] = &task;
  }

  void find_order() {
    std::map<std::pair<int64_t, int64_t>, RetimedTask*> last;  // by lane: pid, tid
    for (RetimedTask& task : tasks_) {
      RetimedTask*& previous = last[{task.event->pid, task.event->tid}];
      const bool inside = previous && previous->event->is(categories::collective) &&
                          !task.event->is(categories::collective) &&
                          task.old_end <= previous->old_end;
      (inside ? task.collective : task.previous) = previous;
      if (!inside) previous = &task;
      for (const int64_t id : task.event->deps) {
        if (auto dep = by_id_.find(id); dep != by_id_.end()) {
          task.deps.push_back(dep->second);
        }
      }
    }
  }

  /// Drops the activities of events that are absent (collected
  /// earlier), and those of a collective whose messages were measured.
  void attach(const std::vector<DeviceActivity>& activities) {
    std::unordered_map<int64_t, std::vector<DeviceActivity>> by_event;
    for (const DeviceActivity& one : activities) by_event[one.event].push_back(one);
    for (auto& [id, of_event] : by_event) {
      const auto found = by_id_.find(id);
      if (found != by_id_.end()) found->second->measured = measure(std::move(of_event));
    }
    for (RetimedTask& task : tasks_) {
      const bool was_measured =
          task.collective && !task.event->args.contains(keys::modelled);
      if (was_measured) task.collective->measured.reset();
    }
  }

  /// When a host wait ends, everything it waited for and all predecessors have ended.
  void find_latest_ends(const std::vector<Event>& events) {
    const auto limit = [](RetimedTask& task, int64_t end) {
      task.latest_end = std::min(task.latest_end, end);
    };
    for (const Event& event : events) {
      for (const int64_t id : event.waits_for) {
        if (auto task = by_id_.find(id); task != by_id_.end()) {
          limit(*task->second, event.end());
        }
      }
    }
    for (auto task = tasks_.rbegin(); task != tasks_.rend(); ++task) {
      for (RetimedTask* dep : task->deps) limit(*dep, task->latest_end);
      if (task->previous) limit(*task->previous, task->latest_end);
    }
  }

  void place(RetimedTask& task) {
    Event& event = *task.event;
    // The end of the last thing that it waited for, in old times and in new ones:
    // the stream, a dependency or, if later, the time at which it was enqueued.
    int64_t old_ready = INT64_MIN, ready = INT64_MIN;
    const auto after = [&](const RetimedTask& other) {
      old_ready = std::max(old_ready, other.old_end);
      ready = std::max(ready, other.event->end());
    };
    if (task.previous) after(*task.previous);
    for (const RetimedTask* dep : task.deps) after(*dep);
    const bool queued = event.args.contains(keys::queued_us);
    if (queued) {
      const double waited = event.args[keys::queued_us];
      const int64_t was_ready = task.old_begin - std::llround(waited * 1e3);
      if (was_ready > old_ready) ready = std::max(ready, was_ready);
    }
    int64_t earliest = ready;
    const auto op = by_event_id_.find(event.op);
    if (event.op != kNone && op != by_event_id_.end()) {
      earliest = std::max(earliest, op->second->ts);
    }
    const int64_t begin = task.measured ? task.measured->begin : task.old_begin;
    const int64_t end = task.measured ? task.measured->end : task.old_end;
    event.ts = std::min(std::max(begin, earliest), task.latest_end);
    // At least a nanosecond if there is room, so that a stream's tasks are ordered.
    event.dur = std::min(std::max(end, event.ts + 1), task.latest_end) - event.ts;
    if (queued && ready != INT64_MIN) {
      event.args[keys::queued_us] = static_cast<double>(event.ts - ready) / 1e3;
    }
    if (!task.measured) return;
    const int64_t busy = std::min(task.measured->busy, event.dur);
    event.args[keys::cpu_us] = static_cast<double>(busy) / 1e3;
    event.args[keys::activities] = task.measured->activities;
    if (!task.measured->kernels.empty()) {
      event.args[keys::kernels] = task.measured->kernels;
    }
  }

  /// Moves a message, modelled or received by the host, along with its collective.
  void follow(RetimedTask& message) {
    const RetimedTask& whole = *message.collective;
    const int64_t length = whole.old_end - whole.old_begin;
    const auto moved = [&](int64_t time) {
      const double share =
          length ? static_cast<double>(time - whole.old_begin) / length : 0;
      return whole.event->ts + static_cast<int64_t>(share * whole.event->dur);
    };
    const int64_t end = moved(message.old_end);
    message.event->ts = moved(message.old_begin);
    message.event->dur = end - message.event->ts;
  }

  std::vector<RetimedTask> tasks_;  ///< sorted by old_begin, then id
  std::unordered_map<int64_t, RetimedTask*> by_id_;
  std::unordered_map<int64_t, const Event*> by_event_id_;
};

}  // namespace

void retime_events(std::vector<Event>& events,
                   const std::vector<DeviceActivity>& activities) {
  if (!activities.empty()) Retiming(events, activities).place();
}

}  // namespace lockstep::tracer

#include "tracer/record/place_work.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

namespace lockstep::tracer {
namespace {

/// All that hardware did for one event.
struct Pieces {
  std::vector<HardwareWork> works;
  int64_t begin() const { return works.front().begin; }
  int64_t end = 0, busy = 0;

  /// After the last one was added.
  void close() {
    std::sort(works.begin(), works.end(),
              [](auto& a, auto& b) { return a.begin < b.begin; });
    end = begin();
    for (const HardwareWork& work : works) {  // where two overlap, once
      busy += std::max<int64_t>(0, work.end - std::max(end, work.begin));
      end = std::max(end, work.end);
    }
  }
};

/// A kernel, copy or collective, before and after.
struct PlacedTask {
  Event* event = nullptr;
  int64_t old_begin = 0, old_end = 0;
  PlacedTask* before = nullptr;  ///< ahead of it on its stream
  PlacedTask* around = nullptr;  ///< a message's collective
  std::vector<PlacedTask*> deps;
  int64_t latest = INT64_MAX;  ///< it must be over by then
  std::optional<Pieces> pieces;
};

class Placing {
 public:
  Placing(std::vector<Event>& events, const std::vector<HardwareWork>& work) {
    std::unordered_map<int64_t, Pieces> by_event;
    for (const HardwareWork& one : work) by_event[one.event].works.push_back(one);
    find_tasks(events);
    find_order();
    for (auto& [id, pieces] : by_event) {  // of an event that is not there: too late
      const auto found = by_id_.find(id);
      if (found == by_id_.end()) continue;
      pieces.close();
      found->second->pieces = std::move(pieces);
    }
    for (PlacedTask& task : tasks_) {
      const bool seen = task.around && !task.event->args.contains(keys::modelled);
      if (seen) task.around->pieces.reset();
    }
    find_latest(events);
  }

  void place() {
    for (PlacedTask& task : tasks_) {
      if (task.around) {
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
                        event.is(categories::collective);
      if (event.ph == 'X' && runs) in_order.push_back(&event);
    }
    std::sort(in_order.begin(), in_order.end(), [](const Event* a, const Event* b) {
      return a->ts != b->ts ? a->ts < b->ts : a->id < b->id;
    });
    for (Event* event : in_order) {
      tasks_.push_back(
          {.event = event, .old_begin = event->ts, .old_end = event->end()});
    }
    for (PlacedTask& task : tasks_) by_id_[task.event->id] = &task;
  }

  void find_order() {
    std::map<std::pair<int64_t, int64_t>, PlacedTask*> last;  // by lane: pid, tid
    for (PlacedTask& task : tasks_) {
      PlacedTask*& before = last[{task.event->pid, task.event->tid}];
      const bool inside = before && before->event->is(categories::collective) &&
                          !task.event->is(categories::collective) &&
                          task.old_end <= before->old_end;
      (inside ? task.around : task.before) = before;
      if (!inside) before = &task;
      for (const int64_t id : task.event->deps) {
        if (auto dep = by_id_.find(id); dep != by_id_.end()) {
          task.deps.push_back(dep->second);
        }
      }
    }
  }

  /// What a host wait ended with was over by then, and so was all before it.
  void find_latest(const std::vector<Event>& events) {
    for (const Event& event : events) {
      for (const int64_t id : event.waits_for) {
        if (auto task = by_id_.find(id); task != by_id_.end()) {
          task->second->latest = std::min(task->second->latest, event.end());
        }
      }
    }
    for (auto task = tasks_.rbegin(); task != tasks_.rend(); ++task) {
      for (PlacedTask* dep : task->deps)
        dep->latest = std::min(dep->latest, task->latest);
      if (PlacedTask* before = task->before) {
        before->latest = std::min(before->latest, task->latest);
      }
    }
  }

  void place(PlacedTask& task) {
    Event& event = *task.event;
    // What it waited for last, before and now; if neither stream nor dependency, then
    // its being enqueued.
    int64_t old_ready = INT64_MIN, ready = INT64_MIN;
    const auto after = [&](const PlacedTask& other) {
      old_ready = std::max(old_ready, other.old_end);
      ready = std::max(ready, other.event->end());
    };
    if (task.before) after(*task.before);
    for (const PlacedTask* dep : task.deps) after(*dep);
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
    const int64_t begin = task.pieces ? task.pieces->begin() : task.old_begin;
    const int64_t end = task.pieces ? task.pieces->end : task.old_end;
    event.ts = std::min(std::max(begin, earliest), task.latest);
    // A nanosecond at least where there is room, so that a stream's tasks have an
    // order.
    event.dur = std::min(std::max(end, event.ts + 1), task.latest) - event.ts;
    if (queued && ready != INT64_MIN) {
      event.args[keys::queued_us] = static_cast<double>(event.ts - ready) / 1e3;
    }
    if (!task.pieces) return;
    const int64_t busy = std::min(task.pieces->busy, event.dur);
    event.args[keys::cpu_us] = static_cast<double>(busy) / 1e3;
    event.args[keys::activities] = task.pieces->works.size();
  }

  /// A modelled message keeps its share of its collective.
  void follow(PlacedTask& message) {
    const PlacedTask& whole = *message.around;
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

  std::vector<PlacedTask> tasks_;  ///< in the order in which they began
  std::unordered_map<int64_t, PlacedTask*> by_id_;
  std::unordered_map<int64_t, const Event*> by_event_id_;
};

}  // namespace

void place_work(std::vector<Event>& events, const std::vector<HardwareWork>& work) {
  if (!work.empty()) Placing(events, work).place();
}

}  // namespace lockstep::tracer

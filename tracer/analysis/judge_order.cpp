// Laws about time: what must lie inside what, and what must wait for what.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracer/analysis/judge.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

std::string at(int64_t time) { return format_microseconds(time) + " µs"; }

void judge_nesting(Case& the) {
  Law& nesting = the.law("nesting", "events of a host lane nest");
  Law& fifo = the.law("fifo", "a stream runs one thing at a time");
  std::map<LaneKey, std::vector<const Event*>> open;
  for (const Event& event : the.trace.events) {
    if (event.ph != 'X') continue;
    auto& stack = open[lane_of(event)];
    while (!stack.empty() && stack.back()->end() <= event.ts) stack.pop_back();
    const Event* outer = stack.empty() ? nullptr : stack.back();
    if (the.lanes.of(event).is_host()) {
      nesting.expect(!outer || event.end() <= outer->end(), event.id, [&] {
        return fmt::format("{} ends at {}, after {} #{} around it ({})", name_of(event),
                           at(event.end()), name_of(*outer), outer->id,
                           at(outer->end()));
      });
    } else {
      const bool message = outer && outer->is("collective") && !event.is("collective");
      fifo.expect(!outer || (message && event.end() <= outer->end()), event.id, [&] {
        return fmt::format("{} starts at {}, while {} #{} runs on the same stream",
                           name_of(event), at(event.ts), name_of(*outer), outer->id);
      });
    }
    stack.push_back(&event);
  }
}

void judge_parents(Case& the) {
  Law& law = the.law("parent-contains", "an event starts while its parent runs");
  for (const Event& event : the.trace.events) {
    const Event* parent = the.index.find(event.parent);
    if (event.parent == kNone || !parent) continue;
    law.expect(parent->ts <= event.ts && event.ts <= parent->end(), event.id, [&] {
      return fmt::format("{} starts at {}, outside its parent #{} ({} to {})",
                         name_of(event), at(event.ts), parent->id, at(parent->ts),
                         at(parent->end()));
    });
  }
}

void judge_waiting(Case& the) {
  Law& launch = the.law("launch-order", "nothing runs before the op that enqueued it");
  Law& deps = the.law("deps-respected", "nothing runs before what it waits for ended");
  Law& syncs = the.law("sync-waits", "a wait ends after what it waits for");
  for (const Event& event : the.trace.events) {
    if (const Event* op = the.index.find(event.op); op && event.op != kNone) {
      launch.expect(op->ts <= event.ts, event.id, [&] {
        return fmt::format("{} starts at {}, its op #{} at {}", name_of(event),
                           at(event.ts), op->id, at(op->ts));
      });
    }
    if (runs_ahead(event)) {
      const Event* room = the.index.find(int_arg(event.args, "after", kNone));
      launch.expect(!room || room->ts <= event.ts, event.id, [&] {
        return fmt::format("{} starts at {}, but room for it was made in #{} at {}",
                           name_of(event), at(event.ts), room->id, at(room->ts));
      });
    }
    for (const int64_t id : event.deps) {
      const Event* dep = the.index.find(id);
      deps.expect(!dep || dep->end() <= event.ts, event.id, [&] {
        return fmt::format("{} starts at {}, but {} #{} ends at {}", name_of(event),
                           at(event.ts), name_of(*dep), id, at(dep->end()));
      });
    }
    for (const int64_t id : event.waits_for) {
      const Event* awaited = the.index.find(id);
      syncs.expect(!awaited || awaited->end() <= event.end(), event.id, [&] {
        return fmt::format("{} ends at {}, but {} #{} at {}", name_of(event),
                           at(event.end()), name_of(*awaited), id, at(awaited->end()));
      });
    }
  }
}

void judge_marks(Case& the) {
  Law& law = the.law("grad-ready", "a gradient is ready when its kernel ends");
  for (const Event& event : the.trace.events) {
    if (event.ph != 'i' || event.name != "grad_ready") continue;
    const int64_t by = int_arg(event.args, "by", kNone);
    const Event* kernel = by == kNone ? nullptr : the.index.find(by);
    law.expect(kernel != nullptr, event.id, [&] {
      return fmt::format("`by` of {} names no kernel", name_of(event));
    });
    if (!kernel) continue;
    law.expect(
        lane_of(*kernel) == lane_of(event) && kernel->end() == event.ts, event.id, [&] {
          return fmt::format("{} at {} is not at the end of kernel #{} ({})",
                             name_of(event), at(event.ts), by, at(kernel->end()));
        });
  }
}

void judge_steps(Case& the) {
  Law& law = the.law("steps-whole", "a step has an end, and its phases lie inside");
  for (const Step& step : the.steps) {
    if (step.interrupted) continue;
    law.expect(step.event->dur > 0, step.event->id,
               [&] { return fmt::format("step {} has no end", step.number); });
    for (const Event* phase : step.phases) {
      law.expect(step.event->ts <= phase->ts && phase->end() <= step.event->end(),
                 phase->id, [&] {
                   return fmt::format("{} lies outside step {}", name_of(*phase),
                                      step.number);
                 });
    }
  }
  law.expect(!the.steps.empty(), kNone,
             [] { return "there is no step in this trace"; });
}

/// A kernel of the true backward pass: of an op that has a forward op. (Adding up what
/// arrived, afterwards, is none.)
bool is_backward_kernel(const Case& the, const Event& event) {
  if (!event.is("kernel") || string_arg(event.args, "phase") != "backward")
    return false;
  const Event* op = event.op == kNone ? nullptr : the.index.find(event.op);
  return op && op->fwd != kNone;
}

void judge_reduce(Case& the) {
  Law& law =
      the.law("reduce-after-backward",
              "no gradient is summed before the last replica's last one is ready");
  for (const Step& step : the.steps) {
    if (step.interrupted) continue;
    const Event* reduce = nullptr;  // tasks are sorted by time: the first one counts
    const Event* last = nullptr;
    for (const Event* task : step.tasks) {
      if (task->is("copy") && string_arg(task->args, "why") == "reduce" && !reduce) {
        reduce = task;
      }
      if (!is_backward_kernel(the, *task)) continue;
      if (!last || task->end() > last->end()) last = task;
    }
    if (!reduce || !last) continue;
    law.expect(last->end() <= reduce->ts, reduce->id, [&] {
      return fmt::format("{} starts at {}, before {} #{} ends ({})", name_of(*reduce),
                         at(reduce->ts), name_of(*last), last->id, at(last->end()));
    });
  }
}

}  // namespace

void judge_order(Case& the) {
  judge_nesting(the);
  judge_parents(the);
  judge_waiting(the);
  judge_marks(the);
  judge_steps(the);
  judge_reduce(the);
}

}  // namespace lockstep::tracer

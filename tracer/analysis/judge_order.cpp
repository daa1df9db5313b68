// Laws about time: which events must enclose or wait for which others.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracer/analysis/judge.h"
#include "tracer/analysis/judge_links.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

std::string at(int64_t time) { return format_microseconds(time) + " µs"; }

/// What runs on a lane: calls within calls on the host, one task at a time on a stream.
class LaneJudge {
 public:
  explicit LaneJudge(TraceUnderTest& test)
      : nesting_(test.law("nesting", "events on a host lane nest")),
        fifo_(test.law("fifo", "a stream runs one task at a time")),
        lanes_(test.lanes) {}

  void judge(const Event& event) {
    if (event.ph != 'X') return;
    auto& stack = open_[lane_of(event)];
    while (!stack.empty() && stack.back()->end() <= event.ts) stack.pop_back();
    const Event* outer = stack.empty() ? nullptr : stack.back();
    if (lanes_.of(event).is_host()) {
      nesting_.expect(!outer || event.end() <= outer->end(), event.id, [&] {
        return fmt::format("{} ends at {}, after the enclosing {} #{} ({})",
                           name_of(event), at(event.end()), name_of(*outer), outer->id,
                           at(outer->end()));
      });
    } else {
      const bool message = outer && outer->is(categories::collective) &&
                           !event.is(categories::collective);
      fifo_.expect(!outer || (message && event.end() <= outer->end()), event.id, [&] {
        return fmt::format("{} starts at {}, while {} #{} runs on the same stream",
                           name_of(event), at(event.ts), name_of(*outer), outer->id);
      });
    }
    stack.push_back(&event);
  }

 private:
  Law &nesting_, &fifo_;
  const Lanes& lanes_;
  LaneMap<std::vector<const Event*>> open_;
};

void judge_parent(Law& law, const Index& index, const Event& event) {
  if (event.parent == kNone) return;
  const Event* parent = index.find(event.parent);
  if (!parent) return;
  law.expect(parent->ts <= event.ts && event.ts <= parent->end(), event.id, [&] {
    return fmt::format("{} starts at {}, outside its parent #{} ({} to {})",
                       name_of(event), at(event.ts), parent->id, at(parent->ts),
                       at(parent->end()));
  });
}

void judge_launch(Law& law, const Index& index, const Event& event) {
  if (const Event* op = index.find(event.op); op && event.op != kNone) {
    law.expect(op->ts <= event.ts, event.id, [&] {
      return fmt::format("{} starts at {}, but its op #{} starts at {}", name_of(event),
                         at(event.ts), op->id, at(op->ts));
    });
  }
  if (runs_ahead(event)) {
    const Event* room = index.find(int_arg(event.args, keys::after, kNone));
    law.expect(!room || room->ts <= event.ts, event.id, [&] {
      return fmt::format(
          "{} starts at {}, but event #{}, which freed its slot, starts at {}",
          name_of(event), at(event.ts), room->id, at(room->ts));
    });
  }
}

void judge_deps(Law& law, const Index& index, const Event& event) {
  for (const int64_t id : event.deps) {
    const Event* dep = index.find(id);
    law.expect(!dep || dep->end() <= event.ts, event.id, [&] {
      return fmt::format("{} starts at {}, but {} #{} ends at {}", name_of(event),
                         at(event.ts), name_of(*dep), id, at(dep->end()));
    });
  }
}

void judge_sync(Law& law, const Index& index, const Event& event) {
  for (const int64_t id : event.waits_for) {
    const Event* awaited = index.find(id);
    law.expect(!awaited || awaited->end() <= event.end(), event.id, [&] {
      return fmt::format("{} ends at {}, but {} #{} ends at {}", name_of(event),
                         at(event.end()), name_of(*awaited), id, at(awaited->end()));
    });
  }
}

void judge_mark(Law& law, const Index& index, const Event& event) {
  if (event.ph != 'i' || event.name != names::grad_ready) return;
  const int64_t by = int_arg(event.args, keys::by, kNone);
  const Event* kernel = by == kNone ? nullptr : index.find(by);
  law.expect(kernel != nullptr, event.id, [&] {
    return fmt::format("`by` of {} does not name a kernel", name_of(event));
  });
  if (!kernel) return;
  law.expect(lane_of(*kernel) == lane_of(event) && kernel->end() == event.ts, event.id,
             [&] {
               return fmt::format("{} at {} is not at the end of kernel #{} ({})",
                                  name_of(event), at(event.ts), by, at(kernel->end()));
             });
}

/// Checks each event against all laws in a single pass; see judge_structure.
void judge_events(TraceUnderTest& test) {
  LaneJudge lanes(test);
  Law& parents = test.law("parent-contains", "an event starts while its parent runs");
  Law& launch =
      test.law("launch-order", "nothing starts before the op that enqueued it");
  Law& deps =
      test.law("deps-respected", "nothing starts before its dependencies have ended");
  Law& syncs = test.law("sync-waits", "a wait ends after what it waits for");
  Law& marks = test.law("grad-ready", "a gradient is ready when its kernel ends");
  for (const Event& event : test.trace.events) {
    lanes.judge(event);
    judge_parent(parents, test.index, event);
    judge_launch(launch, test.index, event);
    judge_deps(deps, test.index, event);
    judge_sync(syncs, test.index, event);
    judge_mark(marks, test.index, event);
  }
}

void judge_steps(TraceUnderTest& test) {
  Law& law = test.law("steps-whole", "a step has an end and contains its phases");
  for (const Step& step : test.steps) {
    if (step.interrupted) continue;
    law.expect(step.event->dur > 0, step.event->id,
               [&] { return fmt::format("step {} has no end", step.number); });
    for (const Event* phase : step.phases) {
      law.expect(step.event->ts <= phase->ts && phase->end() <= step.event->end(),
                 phase->id, [&] {
                   return fmt::format("{} is outside step {}", name_of(*phase),
                                      step.number);
                 });
    }
  }
  law.expect(!test.steps.empty(), kNone, [] { return "this trace has no steps"; });
}

/// Returns true for a kernel of the actual backward pass: its op has a
/// forward op. (Summing up what arrived, afterwards, does not count.)
bool is_backward_kernel(const TraceUnderTest& test, const Event& event) {
  if (!event.is(categories::kernel) || event.op == kNone) return false;
  const Event* op = test.index.find(event.op);
  return op && op->fwd != kNone &&
         text_arg(event.args, keys::phase) == phases::backward;
}

void judge_reduce(TraceUnderTest& test) {
  Law& law = test.law("reduce-after-backward",
                      "no gradient is summed before all replicas' gradients are ready");
  for (const Step& step : test.steps) {
    if (step.interrupted) continue;
    const Event* reduce = nullptr;  // tasks are sorted by time: the first one is used
    const Event* last = nullptr;
    for (const Event* task : step.tasks) {
      if (!reduce && task->is(categories::copy) &&
          text_arg(task->args, keys::why) == reasons::reduce) {
        reduce = task;
      }
      if (!is_backward_kernel(test, *task)) continue;
      if (!last || task->end() > last->end()) last = task;
    }
    if (!reduce || !last) continue;
    law.expect(last->end() <= reduce->ts, reduce->id, [&] {
      return fmt::format("{} starts at {}, before {} #{} ends ({})", name_of(*reduce),
                         at(reduce->ts), name_of(*last), last->id, at(last->end()));
    });
  }
}

/// A port of a device, used by one copy at a time.
class EmulatedPort {
 public:
  EmulatedPort(Law& law, const char* verb) : law_(law), verb_(verb) {}

  void take(const Event& copy, int64_t device, double gb_per_s) {
    if (device < 0) return;  // main memory has a link to each device
    const double bytes = number_arg(copy.args, keys::bytes);
    law_.expect(static_cast<double>(copy.dur + 1) * gb_per_s >= bytes, copy.id, [&] {
      return fmt::format("{} moves {} B in {} µs: more than the link's {} GB/s",
                         name_of(copy), bytes, format_microseconds(copy.dur), gb_per_s);
    });
    const Event*& holder = holder_[device];
    law_.expect(!holder || holder->end() <= copy.ts, copy.id, [&] {
      return fmt::format("{} starts at {}, while device {} is still {} {} #{}",
                         name_of(copy), at(copy.ts), device, verb_, name_of(*holder),
                         holder->id);
    });
    if (!holder || holder->end() < copy.end()) holder = &copy;
  }

 private:
  Law& law_;
  const char* verb_;
  std::map<int64_t, const Event*> holder_;  ///< by device: the copy that ends last
};

/// Applies only to emulated traces: recorded copies may share a link.
void judge_ports(TraceUnderTest& test) {
  Law& law = test.law("ports", "no emulated port exceeds its bandwidth");
  const Json& emulation = object_arg(test.trace.lockstep, top::emulation);
  const double gb_per_s = number_arg(emulation, "link_gb_per_s");
  if (emulation.contains("hardware")) return judge_links(test, law);
  if (string_arg(emulation, "durations") != "own hardware" || gb_per_s <= 0) return;
  EmulatedPort sending(law, "sending"), receiving(law, "receiving");
  for (const Event& event : test.trace.events) {
    if (event.ph != 'X' || !event.is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(event);
    if (copy.src == copy.dst) continue;
    sending.take(event, copy.src, gb_per_s);
    receiving.take(event, copy.dst, gb_per_s);
  }
}

}  // namespace

void judge_order(TraceUnderTest& test) {
  judge_events(test);
  judge_steps(test);
  judge_reduce(test);
  judge_ports(test);
}

}  // namespace lockstep::tracer

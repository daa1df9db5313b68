// Laws about the file itself: it is complete, and everything it refers to exists.
#include <fmt/format.h>

#include <string_view>
#include <unordered_set>
#include <utility>

#include "tracer/analysis/judge.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

bool has_identity(const Event& event) { return event.ph == 'X' || event.ph == 'i'; }

void judge_header(TraceUnderTest& test) {
  Law& law = test.law("format", "the file declares its format");
  const Json& file = test.trace.lockstep;
  const auto expect = [&](bool holds, const char* problem) {
    law.expect(holds, kNone, [&] { return problem; });
  };
  expect(int_arg(file, top::format) == 1,
         "`lockstep.format` is not 1; fix: pass a trace that lockstep recorded");
  const std::string clock = string_arg(file, top::clock);
  expect(clock == values::measured || clock == values::emulated,
         "`lockstep.clock` is neither `measured` nor `emulated`");
  expect(!string_arg(file, top::mode).empty(), "`lockstep.mode` is missing");
  expect(file.contains(top::devices) && file[top::devices].is_array() &&
             !file[top::devices].empty(),
         "`lockstep.devices` is missing or empty");
  if (file.contains(top::imported)) return;  // PyTorch's profiler records no model
  const Json& model = object_arg(file, top::model);
  expect(int_arg(model, top::parameter_bytes, -1) >= 0 &&
             int_arg(model, top::buffer_bytes, -1) >= 0,
         "`lockstep.model` lacks `parameter_bytes` or `buffer_bytes`");
}

void judge_times(Law& law, const Event& event) {
  law.expect(event.ts >= 0 && event.dur >= 0, event.id, [&] {
    return fmt::format("{} has ts {} µs, dur {} µs", name_of(event),
                       format_microseconds(event.ts), format_microseconds(event.dur));
  });
}

void judge_id(Law& law, const Index& index, const Event& event) {
  if (!has_identity(event)) return;
  law.expect(event.id != kNone, kNone, [&] {
    return fmt::format("{} at {} µs has no valid `args.id`", name_of(event),
                       format_microseconds(event.ts));
  });
  const bool outside = bool_arg(event.args, keys::imported);  // of the steps
  law.expect(event.step != kNone || outside, event.id, [&] {
    return fmt::format("{} has no valid `args.step`", name_of(event));
  });
  law.expect(event.id == kNone || index.find(event.id) == &event, event.id, [&] {
    return fmt::format("id {} is used again by {}", event.id, name_of(event));
  });
}

/// Arguments that become fields of an event unless their type is wrong.
constexpr const char* kFields[] = {keys::id,  keys::step, keys::parent,   keys::op,
                                   keys::fwd, keys::deps, keys::waits_for};

void judge_references(Law& law, const Index& index, const Event& event) {
  if (event.ph == 'M' || event.ph == 'C') return;
  const auto refer = [&](const char* how, int64_t id) {
    law.expect(index.find(id) != nullptr, event.id, [&] {
      return fmt::format("`{}` of {} refers to #{}, which does not exist", how,
                         name_of(event), id);
    });
  };
  if (event.parent != kNone) refer(keys::parent, event.parent);
  if (event.op != kNone) refer(keys::op, event.op);
  if (event.fwd != kNone) refer(keys::fwd, event.fwd);
  const Value after = runs_ahead(event) ? event.args.find(keys::after) : Value();
  if (after.is_integer()) {
    refer(keys::after, after.integer());
  } else {
    law.expect(!after.exists(), event.id, [&] {
      return fmt::format("`after` of {} has the wrong type", name_of(event));
    });
  }
  for (const int64_t id : event.deps) refer(keys::deps, id);
  for (const int64_t id : event.waits_for) refer(keys::waits_for, id);
  const bool typed_right = !event.args.may_hold_fields();
  for (const char* typed : kFields) {
    law.expect(typed_right || !event.args.contains(typed), event.id, [&] {
      return fmt::format("`{}` of {} has the wrong type", typed, name_of(event));
    });
  }
  const bool enqueued = event.is(categories::kernel) || event.is(categories::copy);
  if (enqueued && !bool_arg(event.args, keys::imported)) {
    law.expect(event.op != kNone, event.id, [&] {
      return fmt::format("{} has no `op`, the operation that enqueued it",
                         name_of(event));
    });
  }
}

/// Checks each lane only once.
class NameJudge {
 public:
  NameJudge(Law& law, const Lanes& lanes) : law_(law), lanes_(lanes) {}

  void judge(const Event& event) {
    if (!has_identity(event) || std::exchange(seen_[lane_of(event)], true)) return;
    const Lane& lane = lanes_.of(event);
    law_.expect(!lane.process.empty(), event.id,
                [&] { return fmt::format("pid {} has no `process_name`", event.pid); });
    law_.expect(!lane.thread.empty(), event.id, [&] {
      return fmt::format("pid {} tid {} has no `thread_name`", event.pid, event.tid);
    });
  }

 private:
  Law& law_;
  const Lanes& lanes_;
  LaneMap<bool> seen_;
};

/// Checks each file only once.
class SourceJudge {
 public:
  SourceJudge(Law& law, const Trace& trace)
      : law_(law), sources_(object_arg(trace.lockstep, top::sources)) {}

  void judge(const Event& event) {
    if (!event.args.may_hold(keys::file) && !event.args.may_hold(keys::def_file)) {
      return;
    }
    const CallFacts call = call_facts(event);
    for (const std::string_view file : {call.file, call.def_file}) {
      if (file.empty() || file == last_) continue;
      last_ = file;
      if (!seen_.insert(file).second) continue;
      law_.expect(sources_.contains(std::string(file)), event.id, [&] {
        return fmt::format("{} names {}, which is not in `lockstep.sources`",
                           name_of(event), file);
      });
    }
  }

 private:
  Law& law_;
  const Json& sources_;
  std::unordered_set<std::string_view> seen_;
  std::string_view last_;  ///< consecutive events mostly use the same name
};

void judge_memory(Law& law, const Event& event, Args::Members& categories) {
  if (event.ph != 'C' || event.name != names::memory) return;
  event.args.list(categories);
  for (const auto& [category, bytes] : categories) {
    law.expect(bytes.is_number() && bytes.number() >= 0, kNone, [&] {
      return fmt::format("`{}` is {} at {} µs (pid {})", category, bytes.json().dump(),
                         format_microseconds(event.ts), event.pid);
    });
  }
}

}  // namespace

/// Checks all laws in a single pass over the events: loading an event costs more than
/// checking it.
void judge_structure(TraceUnderTest& test) {
  judge_header(test);
  Law& times = test.law("times", "no time or duration is negative");
  Law& sorted = test.law("sorted", "events are sorted by ts, longer first");
  Law& ids = test.law("ids-unique", "every event has a unique id and a step");
  Law& references = test.law("references", "every id that an event refers to exists");
  NameJudge names(test.law("lanes-named", "every process and thread has a name"),
                  test.lanes);
  SourceJudge sources(
      test.law("sources-present", "every source file that an event names is included"),
      test.trace);
  Law& memory = test.law("memory-positive", "live bytes are never negative");

  sorted.expect(test.trace.sorted_in_file, kNone,
                [] { return "`traceEvents` is not sorted by ts, longer first"; });
  Args::Members categories;
  for (const Event& event : test.trace.events) {
    judge_times(times, event);
    judge_id(ids, test.index, event);
    judge_references(references, test.index, event);
    names.judge(event);
    sources.judge(event);
    judge_memory(memory, event, categories);
  }
}

}  // namespace lockstep::tracer

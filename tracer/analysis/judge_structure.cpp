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
  expect(clock == "measured" || clock == "emulated",
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

void judge_ids(TraceUnderTest& test) {
  Law& law = test.law("ids-unique", "every event has a unique id and a step");
  for (const Event& event : test.trace.events) {
    if (!has_identity(event)) continue;
    law.expect(event.id != kNone, kNone, [&] {
      return fmt::format("{} at {} µs has no valid `args.id`", name_of(event),
                         format_microseconds(event.ts));
    });
    const bool outside = bool_arg(event.args, keys::imported);  // of the steps
    law.expect(event.step != kNone || outside, event.id, [&] {
      return fmt::format("{} has no valid `args.step`", name_of(event));
    });
    law.expect(event.id == kNone || test.index.find(event.id) == &event, event.id, [&] {
      return fmt::format("id {} is used again by {}", event.id, name_of(event));
    });
  }
}

/// Arguments that become fields of an event unless their type is wrong.
constexpr const char* kFields[] = {keys::id,  keys::step, keys::parent,   keys::op,
                                   keys::fwd, keys::deps, keys::waits_for};

void judge_references(TraceUnderTest& test) {
  Law& law = test.law("references", "every id that an event refers to exists");
  const auto refer = [&](const Event& event, const char* how, int64_t id) {
    law.expect(test.index.find(id) != nullptr, event.id, [&] {
      return fmt::format("`{}` of {} refers to #{}, which does not exist", how,
                         name_of(event), id);
    });
  };
  for (const Event& event : test.trace.events) {
    if (event.ph == 'M' || event.ph == 'C') continue;
    if (event.parent != kNone) refer(event, keys::parent, event.parent);
    if (event.op != kNone) refer(event, keys::op, event.op);
    if (event.fwd != kNone) refer(event, keys::fwd, event.fwd);
    const Value after = runs_ahead(event) ? event.args.find(keys::after) : Value();
    if (after.is_integer()) {
      refer(event, keys::after, after.integer());
    } else {
      law.expect(!after.exists(), event.id, [&] {
        return fmt::format("`after` of {} has the wrong type", name_of(event));
      });
    }
    for (const int64_t id : event.deps) refer(event, keys::deps, id);
    for (const int64_t id : event.waits_for) refer(event, keys::waits_for, id);
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
}

void judge_times(TraceUnderTest& test) {
  Law& times = test.law("times", "no time or duration is negative");
  for (const Event& event : test.trace.events) {
    times.expect(event.ts >= 0 && event.dur >= 0, event.id, [&] {
      return fmt::format("{} has ts {} µs, dur {} µs", name_of(event),
                         format_microseconds(event.ts), format_microseconds(event.dur));
    });
  }
  Law& sorted = test.law("sorted", "events are sorted by ts, longer first");
  sorted.expect(test.trace.sorted_in_file, kNone,
                [] { return "`traceEvents` is not sorted by ts, longer first"; });
}

void judge_names(TraceUnderTest& test) {
  Law& law = test.law("lanes-named", "every process and thread has a name");
  LaneMap<bool> seen;
  for (const Event& event : test.trace.events) {
    if (!has_identity(event) || std::exchange(seen[lane_of(event)], true)) continue;
    const Lane& lane = test.lanes.of(event);
    law.expect(!lane.process.empty(), event.id,
               [&] { return fmt::format("pid {} has no `process_name`", event.pid); });
    law.expect(!lane.thread.empty(), event.id, [&] {
      return fmt::format("pid {} tid {} has no `thread_name`", event.pid, event.tid);
    });
  }
}

void judge_sources(TraceUnderTest& test) {
  Law& law =
      test.law("sources-present", "every source file that an event names is included");
  const Json& sources = object_arg(test.trace.lockstep, top::sources);
  std::unordered_set<std::string_view> seen;
  std::string_view last;  // consecutive events mostly use the same name
  for (const Event& event : test.trace.events) {
    if (!event.args.may_hold(keys::file) && !event.args.may_hold(keys::def_file)) {
      continue;
    }
    const CallFacts call = call_facts(event);
    for (const std::string_view file : {call.file, call.def_file}) {
      if (file.empty() || file == last) continue;
      last = file;
      if (!seen.insert(file).second) continue;
      law.expect(sources.contains(std::string(file)), event.id, [&] {
        return fmt::format("{} names {}, which is not in `lockstep.sources`",
                           name_of(event), file);
      });
    }
  }
}

void judge_memory(TraceUnderTest& test) {
  Law& law = test.law("memory-positive", "live bytes are never negative");
  Args::Members categories;
  for (const Event& event : test.trace.events) {
    if (event.ph != 'C' || event.name != names::memory) continue;
    event.args.list(categories);
    for (const auto& [category, bytes] : categories) {
      law.expect(bytes.is_number() && bytes.number() >= 0, kNone, [&] {
        return fmt::format("`{}` is {} at {} µs (pid {})", category,
                           bytes.json().dump(), format_microseconds(event.ts),
                           event.pid);
      });
    }
  }
}

}  // namespace

void judge_structure(TraceUnderTest& test) {
  judge_header(test);
  judge_times(test);
  judge_ids(test);
  judge_references(test);
  judge_names(test);
  judge_sources(test);
  judge_memory(test);
}

}  // namespace lockstep::tracer

// Laws about the file itself: it is complete, and everything it names is there.
#include <fmt/format.h>

#include <set>
#include <unordered_set>

#include "tracer/analysis/judge.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

bool has_identity(const Event& event) { return event.ph == 'X' || event.ph == 'i'; }

void judge_header(Case& the) {
  Law& law = the.law("format", "the file says what it is");
  const Json& top = the.trace.lockstep;
  const auto expect = [&](bool holds, const char* problem) {
    law.expect(holds, kNone, [&] { return problem; });
  };
  expect(int_arg(top, "format") == 1, "`lockstep.format` is not 1: is it ours?");
  const std::string clock = string_arg(top, "clock");
  expect(clock == "measured" || clock == "emulated",
         "`lockstep.clock` is neither `measured` nor `emulated`");
  expect(!string_arg(top, "mode").empty(), "`lockstep.mode` is missing");
  expect(
      top.contains("devices") && top["devices"].is_array() && !top["devices"].empty(),
      "`lockstep.devices` is missing or empty");
  if (top.contains("imported")) return;  // PyTorch's profiler knows no model
  const Json& model = object_arg(top, "model");
  expect(int_arg(model, "parameter_bytes", -1) >= 0 &&
             int_arg(model, "buffer_bytes", -1) >= 0,
         "`lockstep.model` lacks `parameter_bytes` or `buffer_bytes`");
}

void judge_ids(Case& the) {
  Law& law = the.law("ids-unique", "every event has an id of its own and a step");
  std::unordered_set<int64_t> seen;
  for (const Event& event : the.trace.events) {
    if (!has_identity(event)) continue;
    law.expect(event.id != kNone, kNone, [&] {
      return fmt::format("{} at {} µs has no valid `args.id`", name_of(event),
                         format_microseconds(event.ts));
    });
    law.expect(event.step != kNone, event.id, [&] {
      return fmt::format("{} has no valid `args.step`", name_of(event));
    });
    law.expect(event.id == kNone || seen.insert(event.id).second, event.id, [&] {
      return fmt::format("id {} is used again by {}", event.id, name_of(event));
    });
  }
}

void judge_references(Case& the) {
  Law& law = the.law("references", "every id that an event names exists");
  const auto refer = [&](const Event& event, const char* how, int64_t id) {
    law.expect(the.index.find(id) != nullptr, event.id, [&] {
      return fmt::format("`{}` of {} names #{}, which does not exist", how,
                         name_of(event), id);
    });
  };
  for (const Event& event : the.trace.events) {
    if (event.ph == 'M' || event.ph == 'C') continue;
    if (event.parent != kNone) refer(event, "parent", event.parent);
    if (event.op != kNone) refer(event, "op", event.op);
    if (event.fwd != kNone) refer(event, "fwd", event.fwd);
    const auto after = runs_ahead(event) ? event.args.find("after") : event.args.end();
    if (after != event.args.end() && after->is_number_integer()) {
      refer(event, "after", int_arg(event.args, "after"));
    } else {
      law.expect(after == event.args.end(), event.id, [&] {
        return fmt::format("`after` of {} is of the wrong type", name_of(event));
      });
    }
    for (const int64_t id : event.deps) refer(event, "deps", id);
    for (const int64_t id : event.waits_for) refer(event, "for", id);
    for (const char* typed : {"id", "step", "parent", "op", "fwd", "deps", "for"}) {
      law.expect(!event.args.contains(typed), event.id, [&] {
        return fmt::format("`{}` of {} is of the wrong type", typed, name_of(event));
      });
    }
    const bool imported = bool_arg(event.args, "imported");
    if ((event.is("kernel") || event.is("copy")) && !imported) {
      law.expect(event.op != kNone, event.id, [&] {
        return fmt::format("{} lacks `op`: who enqueued it?", name_of(event));
      });
    }
  }
}

void judge_times(Case& the) {
  Law& times = the.law("times", "no time and no duration is negative");
  for (const Event& event : the.trace.events) {
    times.expect(event.ts >= 0 && event.dur >= 0, event.id, [&] {
      return fmt::format("{} has ts {} µs, dur {} µs", name_of(event),
                         format_microseconds(event.ts), format_microseconds(event.dur));
    });
  }
  Law& sorted = the.law("sorted", "events are sorted by ts, longer first");
  sorted.expect(the.trace.sorted_in_file, kNone,
                [] { return "`traceEvents` is not sorted by ts, longer first"; });
}

void judge_names(Case& the) {
  Law& law = the.law("lanes-named", "every process and thread has a name");
  std::set<LaneKey> seen;
  for (const Event& event : the.trace.events) {
    if (!has_identity(event) || !seen.insert(lane_of(event)).second) continue;
    const Lane& lane = the.lanes.of(event);
    law.expect(!lane.process.empty(), event.id,
               [&] { return fmt::format("pid {} has no `process_name`", event.pid); });
    law.expect(!lane.thread.empty(), event.id, [&] {
      return fmt::format("pid {} tid {} has no `thread_name`", event.pid, event.tid);
    });
  }
}

void judge_sources(Case& the) {
  Law& law = the.law("sources-present", "every file that an event names is inside");
  const Json& sources = object_arg(the.trace.lockstep, "sources");
  std::set<std::string> seen;
  for (const Event& event : the.trace.events) {
    for (const char* key : {"file", "def_file"}) {
      const std::string file = string_arg(event.args, key);
      if (file.empty() || !seen.insert(file).second) continue;
      law.expect(sources.contains(file), event.id, [&] {
        return fmt::format("{} names {}, which is not in `lockstep.sources`",
                           name_of(event), file);
      });
    }
  }
}

void judge_memory(Case& the) {
  Law& law = the.law("memory-positive", "live bytes are never negative");
  for (const Event& event : the.trace.events) {
    if (event.ph != 'C' || event.name != "memory") continue;
    for (const auto& [category, bytes] : event.args.items()) {
      law.expect(bytes.is_number() && bytes.get<double>() >= 0, kNone, [&] {
        return fmt::format("`{}` is {} at {} µs (pid {})", category, bytes.dump(),
                           format_microseconds(event.ts), event.pid);
      });
    }
  }
}

}  // namespace

void judge_structure(Case& the) {
  judge_header(the);
  judge_times(the);
  judge_ids(the);
  judge_references(the);
  judge_names(the);
  judge_sources(the);
  judge_memory(the);
}

}  // namespace lockstep::tracer

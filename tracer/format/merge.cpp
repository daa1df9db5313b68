#include "tracer/format/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "tracer/format/lanes.h"
#include "tracer/format/merge_imports.h"
#include "tracer/format/messages.h"
#include "tracer/format/partial.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

int64_t rank_of(const Trace& trace) {
  return int_arg(object_arg(trace.other, top::distributed), top::rank, kNone);
}

void check_together(const std::vector<Trace>& ranks,
                    const std::vector<std::string>& names) {
  std::map<int64_t, std::string> seen;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const int64_t rank = rank_of(ranks[i]);
    if (rank == kNone) {
      throw std::runtime_error(names[i] + ": not the trace of a single rank");
    }
    const auto [first, is_new] = seen.emplace(rank, names[i]);
    if (!is_new) {
      const char* fix = ranks[i].lockstep.contains(top::imported)
                            ? "; fix: import each with its own --rank"
                            : "";
      throw std::runtime_error(fmt::format("{} and {} both belong to rank {}{}",
                                           first->second, names[i], rank, fix));
    }
    const auto run_of = [](const Trace& trace) {
      return string_arg(object_arg(trace.lockstep, top::rank_clock), "run");
    };
    if (run_of(ranks[i]) != run_of(ranks[0])) {
      throw std::runtime_error(names[0] + " and " + names[i] +
                               " are from different runs");
    }
    for (const char* key : {top::arch, top::mode}) {
      if (string_arg(ranks[i].lockstep, key) == string_arg(ranks[0].lockstep, key))
        continue;
      throw std::runtime_error(fmt::format(
          "{} and {} are from different runs (`{}` differs)", names[0], names[i], key));
    }
  }
}

/// Renumbers an event's ids from `ids` on, and puts its times on the merged clock.
template <typename OnClock>
void shift(Event& event, int64_t ids, OnClock on_clock) {
  for (auto field : {&Event::id, &Event::parent, &Event::op, &Event::fwd}) {
    if (event.*field != kNone) event.*field = add_within_range(event.*field, ids);
  }
  for (auto list : {&Event::deps, &Event::waits_for}) {
    for (int64_t& id : event.*list) id = add_within_range(id, ids);
  }
  const char* name = runs_ahead(event) ? keys::after : keys::by;
  if (const int64_t id = int_arg(event.args, name, kNone); id >= 0 && ids != 0) {
    event.args[name] = add_within_range(id, ids);
  }
  if (event.ph == 'M') return;
  const int64_t end = on_clock(event.end());
  event.ts = on_clock(event.ts);
  if (event.dur > 0) event.dur = end - event.ts;
}

void join_halves(std::vector<Event>& events) {
  std::map<MessageKey, const Event*> sends;
  for (const Event& event : events) {
    if (event.is(categories::send)) sends.emplace(message_of(event), &event);
  }
  std::set<int64_t> joined;
  for (Event& event : events) {
    if (!event.is(categories::recv)) continue;
    const auto send = sends.find(message_of(event));
    if (send == sends.end()) continue;
    const int64_t end = event.end();
    event.cat = categories::copy;
    event.ts = std::min(send->second->ts, event.ts);
    event.dur = end - event.ts;
    event.deps = send->second->deps;
    joined.insert(send->second->id);
  }
  std::erase_if(events, [&](const Event& event) {
    return event.is(categories::send) && joined.contains(event.id);
  });
}

/// What a host thread waited for on another rank becomes its `for`, like what it waited
/// for on its own. `first_ids`: what was added to the ids of each rank's file.
void join_waits(std::vector<Event>& events,
                const std::map<int64_t, int64_t>& first_ids) {
  for (Event& event : events) {
    const auto rank = first_ids.find(int_arg(event.args, keys::for_rank, kNone));
    if (rank == first_ids.end()) continue;
    const int64_t id = int_arg(event.args, keys::for_event, kNone);
    event.waits_for.push_back(add_within_range(id, rank->second));
    event.args.erase(keys::for_rank);
    event.args.erase(keys::for_event);
  }
}

/// Returns what the files lack together; nullopt if there is one of each rank, and none
/// ends early.
std::optional<Partial> partial_of_all(const std::vector<Trace>& ranks) {
  Partial all;
  all.of = int_arg(object_arg(ranks[0].other, top::distributed), top::world_size, 1);
  for (const Trace& trace : ranks) {
    const auto partial = partial_of(trace);
    if (partial && partial->ends_early()) {
      all.last_step = all.ends_early() ? std::min(all.last_step, partial->last_step)
                                       : partial->last_step;
    }
    all.ranks.push_back(rank_of(trace));
  }
  std::sort(all.ranks.begin(), all.ranks.end());
  if (!all.ends_early() && !all.lacks_ranks()) return std::nullopt;
  return all;
}

void mark_partial(Trace& merged, Partial partial) {
  if (partial.ends_early()) {
    const int64_t most = share_steps(merged) ? partial.last_step : INT64_MAX;
    partial.last_step = keep_complete_steps(merged, most);
    forget_what_was_left_out(merged.events, true);
  }
  set_partial(merged, partial);
}

}  // namespace

Trace merge_traces(std::vector<Trace> ranks, const std::vector<std::string>& names,
                   ClockReport* clocks) {
  if (ranks.empty()) throw std::runtime_error("no files to merge");
  check_together(ranks, names);
  check_one_job(ranks, names);
  qualify_devices(ranks);
  ClockReport report;
  const std::vector<ClockMap> maps = align_clocks(ranks, report);
  std::vector<int64_t> origins;
  int64_t origin = INT64_MAX;
  for (size_t i = 0; i < ranks.size(); ++i) {
    origins.push_back(
        int_arg(object_arg(ranks[i].lockstep, top::rank_clock), "origin_ns"));
    origin = std::min(origin, maps[i](origins[i]));
  }

  const auto partial = partial_of_all(ranks);
  Trace merged;
  merged.lockstep = ranks[0].lockstep;
  merged.other = ranks[0].other;
  merged.lockstep.erase(top::rank_clock);
  merged.other[top::distributed].erase(top::rank);
  int64_t ids = 0, steps = 0;
  std::map<int64_t, int64_t> first_ids;  // by rank
  for (size_t i = 0; i < ranks.size(); ++i) {
    Trace& trace = ranks[i];
    first_ids[rank_of(trace)] = ids;
    int64_t highest = -1;
    for (Event& event : trace.events) {
      highest = std::max(highest, event.id);
      shift(event, ids, [&](int64_t time) {
        return add_within_range(maps[i](add_within_range(time, origins[i])), -origin);
      });
      merged.events.push_back(std::move(event));
    }
    merged.texts.insert(merged.texts.end(), trace.texts.begin(), trace.texts.end());
    ids = add_within_range(ids, highest + 1);
    steps = std::max(steps, int_arg(trace.lockstep, top::steps));
    const Json& sources = object_arg(trace.lockstep, top::sources);
    for (const auto& [file, text] : sources.items()) {
      merged.lockstep[top::sources][file] = text;
    }
  }
  merged.lockstep[top::steps] = steps;
  if (report.machines.size() > 1) merged.lockstep[top::clocks] = report.json();
  if (clocks) *clocks = std::move(report);
  join_halves(merged.events);
  join_waits(merged.events, first_ids);
  sort_events(merged.events);
  if (partial) mark_partial(merged, *partial);
  return merged;
}

}  // namespace lockstep::tracer

#include "tracer/format/partial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "tracer/format/lanes.h"
#include "tracer/format/own_pace.h"

namespace lockstep::tracer {
namespace {

bool is_complete_step(const Event& event) {
  return event.ph == 'X' && event.is(categories::phase) && event.name == names::step &&
         !bool_arg(event.args, keys::interrupted);
}

/// The last complete step of each rank.
class LastSteps {
 public:
  explicit LastSteps(const Trace& trace) {
    const int64_t workers = int_arg(trace.lockstep, top::workers, INT64_MAX);
    for (const Event& event : trace.events) {
      const int64_t rank = int_arg(event.args, keys::rank, kNone);
      if (event.step == kNone || rank == kNone || rank >= workers) continue;
      int64_t& last = steps_.try_emplace(rank, kNone).first->second;
      if (is_complete_step(event)) last = std::max(last, event.step);
    }
    for (const auto& [rank, step] : steps_) {
      first_to_end_ = std::min(first_to_end_, step);
    }
    together_ = share_steps(trace);
  }

  /// A server makes no steps: it works for those of its workers.
  int64_t of(int64_t rank) const {
    if (together_) return first_to_end_;
    const auto found = steps_.find(rank);
    return found == steps_.end() ? INT64_MAX : found->second;
  }

 private:
  std::map<int64_t, int64_t> steps_;
  int64_t first_to_end_ = INT64_MAX;
  bool together_ = true;
};

/// Removes tasks whose operation was not recorded: it had not ended.
void erase_unfinished(std::vector<Event>& events) {
  size_t erased = 1;
  while (erased > 0) {  // those that an erased one has begun, too
    std::set<int64_t> there;
    for (const Event& event : events) there.insert(event.id);
    const auto lacks = [&](int64_t id) { return id != kNone && !there.contains(id); };
    erased = std::erase_if(events, [&](const Event& event) {
      return lacks(event.op) || lacks(event.parent);
    });
  }
}

}  // namespace

bool share_steps(const Trace& trace) {
  bool has_steps = false;  // the file of a server has none
  for (const Event& event : trace.events) {
    if (!event.is(categories::phase) || event.name != names::step) continue;
    if (at_own_pace(event.args)) return false;
    has_steps = true;
  }
  return has_steps;
}

std::string Partial::text() const {
  std::string text;
  if (lacks_ranks()) {
    text = fmt::format("rank{} {} of {}", ranks.size() == 1 ? "" : "s",
                       fmt::join(ranks, ", "), of);
  }
  if (!ends_early()) return text;
  return fmt::format("{}{}it ends early, after step {}", text, text.empty() ? "" : "; ",
                     last_step);
}

std::optional<Partial> partial_of(const Trace& trace) {
  const Json& said = object_arg(trace.lockstep, top::partial);
  const Json& info = object_arg(trace.other, top::distributed);
  const int64_t rank = int_arg(info, top::rank, kNone);
  Partial partial;
  partial.of = int_arg(info, top::world_size, 1);
  if (said.contains("ranks") && said["ranks"].is_array()) {
    for (const Json& one : said["ranks"]) {
      if (one.is_number_integer()) partial.ranks.push_back(one);
    }
    partial.of = int_arg(said, "of", 1);
    partial.last_step = int_arg(said, "last_step", kNone);
    return partial;
  }
  const bool ours = trace.lockstep.contains(top::rank_clock);
  if (!ours || rank == kNone || partial.of < 2) return std::nullopt;
  partial.ranks = {rank};
  return partial;
}

void set_partial(Trace& trace, const Partial& partial) {
  Json& said = trace.lockstep[top::partial];
  said = {{"ranks", partial.ranks}, {"of", partial.of}};
  if (partial.ends_early()) said["last_step"] = partial.last_step;
}

int64_t keep_complete_steps(Trace& trace, int64_t most) {
  const LastSteps steps(trace);
  const auto is_left = [&](const Event& event) {
    const int64_t last = steps.of(int_arg(event.args, keys::rank, kNone));
    return event.step <= std::min(last, most);
  };
  int64_t last = kNone, end = INT64_MIN;
  std::set<int64_t> left;
  for (const Event& event : trace.events) {
    if (event.step == kNone || !is_left(event)) continue;
    last = std::max(last, event.step);
    end = std::max(end, event.end());
    if (is_complete_step(event)) left.insert(event.step);
  }
  if (trace.lockstep.contains(top::steps)) trace.lockstep[top::steps] = left.size();
  std::erase_if(trace.events, [&](const Event& event) {
    if (event.ph == 'M') return false;
    return event.step == kNone ? event.ts > end : !is_left(event);
  });
  if (!share_steps(trace)) {
    erase_unfinished(trace.events);
    forget_what_was_left_out(trace.events, true);
  }
  return last;
}

void forget_what_was_left_out(std::vector<Event>& events, bool has_gaps) {
  std::set<int64_t> there;
  int64_t first = INT64_MAX;
  for (const Event& event : events) {
    there.insert(event.id);
    if (event.step != kNone) first = std::min(first, event.step);
  }
  const auto is_absent = [&](int64_t id) { return !there.contains(id); };
  for (Event& event : events) {
    if (runs_ahead(event) && is_absent(int_arg(event.args, keys::after, kNone))) {
      event.args.erase(keys::after);
    }
    const bool spans_steps =
        event.name == "wait for batch" || event.name == "synchronize";
    // In a later step any other missing event is a bug, to be found by `check`.
    if (event.step != first && !spans_steps && !has_gaps) continue;
    erase_if(event.deps, is_absent);
    erase_if(event.waits_for, is_absent);
  }
}

}  // namespace lockstep::tracer

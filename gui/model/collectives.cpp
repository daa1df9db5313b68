#include "gui/model/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/units.h"
#include "gui/model/details.h"

namespace lockstep::gui {

namespace {

using tracer::CollectiveTime;
using tracer::ComputingTime;
using tracer::kNone;

/// Returns the kernels of a device that computed between two moments, of any step, and
/// sets `has_phases` if one of them names its phase.
std::vector<ComputingTime::Kernel> computing_kernels(const Model& model, const Lane& of,
                                                     int64_t from, int64_t to,
                                                     bool& has_phases) {
  std::vector<ComputingTime::Kernel> kernels;
  for (const Lane& lane : model.lanes) {
    if (lane.device != of.device) continue;
    auto at = std::upper_bound(
        lane.events.begin(), lane.events.end(), from,
        [&](int64_t ts, uint32_t e) { return ts < model.events[e].ts; });
    // Back to the event that runs at `from`, and to the one that encloses it.
    while (at != lane.events.begin() && model.events[*--at].row > 0) continue;
    for (; at != lane.events.end() && model.events[*at].ts < to; ++at) {
      const Event& event = model.events[*at];
      if (event.what() != Kind::kernel || is_memory_task(model, event)) continue;
      if (event.end() <= from) continue;
      has_phases |= event.phase != 0;
      kernels.push_back({of.rank, of.device, event.ts, event.end(),
                         model.strings[model.phases[event.phase]] == phases::backward});
    }
  }
  return kernels;
}

/// Returns when the last task that an event waits for ended, or kNone.
int64_t end_of_awaited(const Model& model, const tracer::Json& args) {
  int64_t end = kNone;
  const auto awaited = args.find(keys::deps);
  if (awaited == args.end() || !awaited->is_array()) return kNone;
  for (const tracer::Json& id : *awaited) {
    const bool known = id.is_number_integer();
    const uint32_t task = known ? model.event_of_id(id.get<int64_t>()) : kNoEvent;
    if (task == kNoEvent) return kNone;  // one of those not recorded may be the last
    end = std::max(end, model.events[task].end());
  }
  return end;
}

/// Calls `visit` with one rank's collectives of a step, by lane and time.
template <typename Visit>
void each_collective(const Model& model, size_t number, int rank, Visit visit) {
  const Step& step = model.steps[number];
  const uint32_t own = step.event_of(rank);
  const int64_t begin = own == kNoEvent ? step.begin : model.events[own].ts;
  for (const Lane& lane : model.lanes) {
    if (lane.is_host() || lane.rank != rank) continue;
    auto at = std::lower_bound(
        lane.events.begin(), lane.events.end(), begin,
        [&](uint32_t e, int64_t ts) { return model.events[e].ts < ts; });
    for (; at != lane.events.end(); ++at) {
      const Event& event = model.events[*at];
      const bool numbered = event.step != kNoStep;
      if (numbered ? event.step > step.number : event.ts > step.end) break;
      if (event.what() != Kind::collective || model.step_of(event) != number) continue;
      visit(*at);
    }
  }
}

/// Returns when messages of the collective moved to or from the rank, and sets
/// `time.unseen` if the trace does not say so.
tracer::Spans messages_of(const Model& model, uint32_t index, CollectiveTime& time) {
  const Event& event = model.events[index];
  const int device = model.lanes[event.lane].device;
  tracer::Spans moving;
  const uint32_t whole = model.collective_of(index);
  if (whole != kNoEvent) {
    for (const uint32_t number : model.collectives[whole].copies) {
      const Copy& copy = model.copies[number];
      const Event& message = model.events[copy.event];
      const bool own = copy.src == device || message.lane == event.lane;
      if (!own || message.ts < event.ts || message.end() > event.end()) continue;
      moving.add(message.ts, message.end());
      time.unseen |= tracer::bool_arg(args_of(model, message), keys::modelled);
    }
  }
  time.unseen |= moving.covered() == 0;
  return moving;
}

bool have_buckets(const std::vector<CollectiveRow>& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const CollectiveRow& row) { return row.is_bucket(); });
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] += 'A' - 'a';
  return text;
}

std::string nothing_to_show(const Model& model) {
  const bool any =
      std::any_of(model.lanes.begin(), model.lanes.end(), [&](const auto& l) {
        return std::any_of(l.events.begin(), l.events.end(), [&](uint32_t event) {
          return model.events[event].what() == Kind::collective;
        });
      });
  if (any) {
    return "This rank runs **no collective** in this step; other ranks (r) or other "
           "steps (page ↓) do.";
  }
  const std::string mode = model.meta_text(top::mode);
  return fmt::format(
      "This trace{} has **no collectives**; open one of DistributedDataParallel "
      "instead "
      "(./lockstep train --mode ddp --devices 4 --trace ddp.json.gz), or press y for "
      "where the time of this one goes.",
      mode.empty() ? "" : fmt::format(" (mode {})", mode));
}

/// Returns for which rank the others waited.
std::string last_rank_words(const Model& model, const CollectiveRow& row) {
  const uint32_t whole = model.collective_of(row.event);
  if (whole == kNoEvent) return "";
  const Event& last = model.events[model.collectives[whole].events.back()];
  const int rank = model.lanes[last.lane].rank;
  if (rank == row.time.rank) return " This rank started it last.";
  const int64_t later = last.ts - model.events[row.event].ts;
  return fmt::format(" **Rank {}** started it last, **{}** after this rank.", rank,
                     human_time(later));
}

/// Returns what the exposed time consists of.
std::string waiting_words(const Model& model, const CollectiveRow& row) {
  if (row.time.unseen) {
    return "How much of that is **waiting for another rank** is unknown: the times of "
           "its messages were not measured.";
  }
  if (row.time.exposed_wait <= 0) return "Messages moved all that time.";
  return fmt::format("**{}** of that is waiting for other ranks: no message moved.",
                     human_time(row.time.exposed_wait)) +
         last_rank_words(model, row);
}

/// Returns how the part of the time that is not exposed was hidden.
std::string hidden_words(const CollectiveRow& row) {
  const int64_t hidden = row.time.took - row.time.exposed;
  if (hidden <= 0) return "Nothing of it is hidden.";
  std::string text = fmt::format("The other {}", human_time(hidden));
  if (!row.has_phases) {
    return text + " are hidden behind kernels; of which phase is unknown.";
  }
  if (row.time.others() <= 0) return text + " are hidden behind backward.";
  if (row.time.backward <= 0)
    return text + " are hidden behind kernels of other phases.";
  return text + fmt::format(" are hidden: {} behind backward, {} behind other kernels.",
                            human_time(row.time.backward),
                            human_time(row.time.others()));
}

}  // namespace

CollectiveRow collective_row(const Model& model, uint32_t index) {
  const Event& event = model.events[index];
  const Lane& lane = model.lanes[event.lane];
  const CollectiveArgs own(model, index);
  CollectiveRow row;
  row.event = index;
  row.time.rank = lane.rank;
  row.time.seq = own.facts.seq == kNone ? 0 : own.facts.seq;
  row.time.bucket = own.facts.bucket;
  row.time.what = tracer::what_of(own.facts);
  if (row.time.what.empty()) row.time.what = model.name_of(event);
  row.time.bytes = own.facts.imported && !own.facts.sized ? kNone : own.facts.bytes;
  row.time.took = event.dur;
  row.ready = end_of_awaited(model, own.args.json());
  const ComputingTime computing(
      computing_kernels(model, lane, event.ts, event.end(), row.has_phases));
  tracer::Lane place;
  place.rank = lane.rank;
  place.device = lane.device;
  row.time.unseen = own.facts.imported;
  const tracer::Spans messages = messages_of(model, index, row.time);
  computing.divide(place, event.ts, messages, row.time);
  return row;
}

std::vector<CollectiveRow> collectives_of(const Model& model, size_t step, int rank) {
  std::vector<CollectiveRow> rows;
  each_collective(model, step, rank, [&](uint32_t event) {
    rows.push_back(collective_row(model, event));
  });
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(!a.is_bucket(), a.event) < std::pair(!b.is_bucket(), b.event);
  });
  return rows;
}

std::optional<size_t> most_exposed(const Model& model,
                                   const std::vector<CollectiveRow>& rows) {
  if (!model.has_device_times()) return {};
  const bool buckets = have_buckets(rows);
  std::optional<size_t> most;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_bucket() != buckets || rows[i].time.exposed <= 0) continue;
    if (!most || rows[i].time.exposed > rows[*most].time.exposed) most = i;
  }
  return most;
}

std::string exposed_words(const Model& model, const std::vector<CollectiveRow>& rows) {
  if (rows.empty()) return nothing_to_show(model);
  if (!model.has_device_times()) {
    return "Devices of type null compute nothing: **there are no times**, so what is "
           "exposed is unknown. Bytes and order are real.";
  }
  const bool buckets = have_buckets(rows);
  const char* whose = model.ranks() > 1 ? "this rank" : "this device";
  const auto most = most_exposed(model, rows);
  if (!most) {
    return fmt::format(
        "**No {} is exposed**: kernels of {} ran all the time while one was in flight.",
        buckets ? "bucket" : "collective", whose);
  }
  const CollectiveRow& row = rows[*most];
  std::string text = fmt::format(
      "**{}** is exposed for **{}** of {}: no kernel of {} ran then. {} {}",
      capitalised(row.name()), human_time(row.time.exposed), human_time(row.time.took),
      whose, waiting_words(model, row), hidden_words(row));
  int64_t together = 0;
  size_t exposed = 0;
  for (const CollectiveRow& other : rows) {
    if (other.is_bucket() != buckets || other.time.exposed <= 0) continue;
    together += other.time.exposed;
    ++exposed;
  }
  // On one stream the collectives run one after another: their times may be added.
  const uint64_t lane = model.events[row.event].lane;
  const bool serial = std::all_of(rows.begin(), rows.end(), [&](const auto& other) {
    return model.events[other.event].lane == lane;
  });
  if (exposed > 1 && serial) {
    text += fmt::format(" {} {} are exposed, for {} together.", exposed,
                        buckets ? "buckets" : "collectives", human_time(together));
  }
  return text;
}

std::string exposed_by_step(const Model& model, int rank) {
  const size_t count = model.steps.size();
  if (count < 2 || count > kMostStepsTold || !model.has_device_times()) return "";
  std::string text;
  for (size_t number = 0; number < count; ++number) {
    const auto rows = collectives_of(model, number, rank);
    if (rows.empty()) continue;
    const auto most = most_exposed(model, rows);
    text += fmt::format(
        "{}step {}: {}", text.empty() ? "" : "; ", model.steps[number].number,
        most ? rows[*most].name() + ", " + human_time(rows[*most].time.exposed)
             : "nothing");
  }
  return text.empty() ? "" : fmt::format("This rank's most exposed by step: {}.", text);
}

std::string most_exposed_rank(const tracer::StepSummary& step) {
  const bool buckets = std::ranges::any_of(
      step.collectives, [](const auto& time) { return time.bucket != kNone; });
  const tracer::CollectiveTime* most = nullptr;
  std::set<int64_t> ranks;
  for (const tracer::CollectiveTime& time : step.collectives) {
    ranks.insert(time.rank);
    if (buckets && time.bucket == kNone) continue;
    if (most == nullptr || time.exposed > most->exposed) most = &time;
  }
  if (ranks.size() < 2 || most->exposed <= 0) return "";
  return fmt::format(
      "Of all {} ranks in this step, the longest: **{}** of **rank {}**, exposed for "
      "**{}**.",
      ranks.size(), most->what, most->rank, human_time(most->exposed));
}

uint32_t bucket_event(const Model& model, size_t step, int rank, int64_t bucket,
                      std::string& why) {
  std::set<int64_t> known;
  uint32_t found = kNoEvent;
  each_collective(model, step, rank, [&](uint32_t event) {
    const CollectiveArgs own(model, event);
    if (own.facts.bucket < 0) return;
    known.insert(own.facts.bucket);
    const bool earlier = found == kNoEvent || event < found;
    if (own.facts.bucket == bucket && earlier) found = event;
  });
  if (found != kNoEvent) return found;
  why = fmt::format("step {} has no bucket {}", model.steps[step].number, bucket);
  if (known.empty()) {
    why += ": it has no buckets; fix: open a trace of --mode ddp";
    return kNoEvent;
  }
  std::string list;
  for (const int64_t other : known) {
    list += (list.empty() ? "" : ", ") + std::to_string(other);
  }
  why += fmt::format("; fix: name one that it has: {}", list);
  return kNoEvent;
}

}  // namespace lockstep::gui

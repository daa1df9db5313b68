#include "tracer/analysis/shared_updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/units.h"
#include "tracer/analysis/split.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

std::vector<SharedUpdate> find_shared_updates(const Trace& trace) {
  std::vector<SharedUpdate> updates;
  for (const Event& event : trace.events) {
    if (!event.is("phase") || event.name != phases::optimizer) continue;
    if (!event.args.contains(keys::version)) continue;
    if (event.args.contains(keys::server)) continue;  // see staleness.h
    const auto number = [&](const char* key) {
      return int_arg(event.args, key, kNone);
    };
    updates.push_back({&event, number(keys::worker), number(keys::read_version),
                       number(keys::version), number(keys::lost_updates)});
  }
  std::stable_sort(updates.begin(), updates.end(),
                   [](const auto& a, const auto& b) { return a.version < b.version; });
  return updates;
}

Staleness staleness_of(const Trace& trace) {
  Staleness all;
  std::set<int64_t> workers;
  for (const SharedUpdate& update : find_shared_updates(trace)) {
    if (update.read_version < 0 || update.version <= update.read_version) continue;
    ++all.updates;
    ++all.histogram[update.staleness()];
    workers.insert(update.worker);
    if (update.lost == kNone) continue;
    all.lost = add_within_range(std::max<int64_t>(0, all.lost), update.lost);
  }
  all.workers = static_cast<int64_t>(workers.size());
  return all;
}

namespace {

/// An element that was overwritten may have held several updates.
std::string lost_text(int64_t lost) {
  if (lost == kNone) return "lost updates: unknown";
  if (lost == 0) return "no update lost in these steps";
  return fmt::format("at least {} element update{} lost in these steps", lost,
                     lost == 1 ? "" : "s");
}

}  // namespace

std::string staleness_text(const Staleness& all) {
  if (all.updates == 0) return {};
  const auto plural = [](int64_t count) { return count == 1 ? "" : "s"; };
  std::string text = fmt::format(
      "\nshared model · {} update{} by {} worker{} · staleness {:.2f} on "
      "average · {}\n",
      all.updates, plural(all.updates), all.workers, plural(all.workers),
      mean_staleness(all.histogram), lost_text(all.lost));
  for (const auto& [staleness, count] : all.histogram) {
    const double share = static_cast<double>(count) / static_cast<double>(all.updates);
    text +=
        fmt::format("  {:<20}{:>10}{:>6}  {}\n", fmt::format("staleness {}", staleness),
                    count, percent(share), text_bar(share));
  }
  return text +
         "  staleness: how many updates of others lie between reading the weights and "
         "updating them.\n"
         "  Before the first step, the initial model is copied to the host (d2h). What "
         "the end of a\n  run says counts all its steps, recorded or not.\n";
}

Json staleness_json(const Staleness& all) {
  Json json = {{"updates", all.updates},
               {"workers", all.workers},
               {"mean_staleness", mean_staleness(all.histogram)},
               {"histogram", Json::object()},
               {"lost_updates", nullptr}};
  if (all.lost != kNone) json["lost_updates"] = all.lost;
  for (const auto& [staleness, count] : all.histogram) {
    json["histogram"][std::to_string(staleness)] = count;
  }
  return json;
}

}  // namespace lockstep::tracer

#include "tracer/analysis/staleness.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "tracer/format/facts.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

std::string counts_text(const StalenessCounts& counts) {
  std::string text;
  for (const auto& [staleness, count] : counts) {
    text += fmt::format("{}{} ({}x)", text.empty() ? "" : ", ", staleness, count);
  }
  return text;
}

Json counts_json(const StalenessCounts& counts) {
  Json json = Json::object();
  for (const auto& [staleness, count] : counts) json[fmt::to_string(staleness)] = count;
  return json;
}

}  // namespace

ServerSummary summarize_servers(const Trace& trace) {
  ServerSummary summary;
  std::map<int64_t, int64_t> server_of_push;  // event → server
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || !event.is(categories::phase)) continue;
    if (!event.args.contains(keys::server)) continue;
    const int64_t server = int_arg(event.args, keys::server);
    const int64_t worker = int_arg(event.args, keys::worker);
    ServerTraffic& traffic = summary.servers[server];
    if (bool_arg(event.args, keys::discarded)) ++traffic.discarded;
    if (event.name != phases::optimizer) continue;
    const int64_t staleness = int_arg(event.args, keys::version) - 1 -
                              int_arg(event.args, keys::read_version);
    ++traffic.updates;
    ++traffic.staleness[staleness];
    ++summary.staleness[worker][staleness];
  }
  if (summary.servers.empty()) return summary;
  const auto devices = trace.lockstep.find(top::devices);
  const int64_t count = devices != trace.lockstep.end() && devices->is_array()
                            ? static_cast<int64_t>(devices->size())
                            : 0;
  const int64_t workers = count - static_cast<int64_t>(summary.servers.size());
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || !event.is(categories::copy)) continue;
    const CopyFacts copy = copy_facts(event);
    const bool push = copy.why == reasons::push;
    if (!push && copy.why != reasons::pull) continue;
    const auto found = summary.servers.find((push ? copy.dst : copy.src) - workers);
    if (found == summary.servers.end()) continue;
    int64_t& bytes = push ? found->second.in : found->second.out;
    bytes = add_within_range(bytes, copy.known_bytes());
  }
  return summary;
}

double mean_staleness(const StalenessCounts& counts) {
  double sum = 0, all = 0;
  for (const auto& [staleness, count] : counts) {
    sum += static_cast<double>(staleness) * static_cast<double>(count);
    all += static_cast<double>(count);
  }
  return all > 0 ? sum / all : 0;
}

std::string servers_text(const ServerSummary& summary) {
  if (summary.servers.empty()) return {};
  const bool never_stale = std::all_of(
      summary.staleness.begin(), summary.staleness.end(), [](const auto& of_worker) {
        return of_worker.second.size() == 1 && of_worker.second.contains(0);
      });
  std::string text =
      fmt::format("\n{:<22}{:>9}{:>11}{:>11}{:>11}{:>16}\n", "parameter servers",
                  "updates", "discarded", "in", "out", "mean staleness");
  for (const auto& [server, traffic] : summary.servers) {
    text += fmt::format("  {:<20}{:>9}{:>11}{:>11}{:>11}{:>16.2f}\n",
                        fmt::format("server {}", server), traffic.updates,
                        traffic.discarded, human_bytes(traffic.in),
                        human_bytes(traffic.out), mean_staleness(traffic.staleness));
  }
  for (const auto& [worker, counts] : summary.staleness) {
    if (never_stale) break;  // an update is not of one worker
    text += fmt::format("  staleness of worker {}: {}\n", worker, counts_text(counts));
  }
  return text +
         "  over all recorded steps. Staleness: the updates that others made between a "
         "worker's pull\n  and the update with its gradient. In: gradients and, before "
         "the\n  first step, the initial weights.\n";
}

Json servers_json(const ServerSummary& summary) {
  Json servers = Json::array(), workers = Json::object();
  for (const auto& [server, traffic] : summary.servers) {
    servers.push_back({{"server", server},
                       {"updates", traffic.updates},
                       {"discarded", traffic.discarded},
                       {"bytes_in", traffic.in},
                       {"bytes_out", traffic.out},
                       {"mean_staleness", mean_staleness(traffic.staleness)},
                       {"staleness", counts_json(traffic.staleness)}});
  }
  for (const auto& [worker, counts] : summary.staleness) {
    workers[fmt::to_string(worker)] = counts_json(counts);
  }
  return {{"servers", servers}, {"staleness_of_workers", workers}};
}

}  // namespace lockstep::tracer

// Parameter servers: the updates of each, and how old the weights were that their
// gradients were computed for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// How many updates had which staleness: the number of updates that others made between
/// the worker's read of the weights and the update with its gradient.
using StalenessCounts = std::map<int64_t, int64_t>;

struct ServerTraffic {
  int64_t updates = 0, discarded = 0;  ///< gradients that made one, that came too late
  int64_t in = 0, out = 0;             ///< bytes of pushes, of pulls
  StalenessCounts staleness;
};

/// Over all recorded steps.
struct ServerSummary {
  std::map<int64_t, ServerTraffic> servers;      ///< by number
  std::map<int64_t, StalenessCounts> staleness;  ///< by worker
};

/// Returns the updates of parameter servers; empty if the trace has none.
ServerSummary summarize_servers(const Trace& trace);

/// Returns the mean; 0 if there are none.
double mean_staleness(const StalenessCounts& counts);

/// Returns a table for `trace summary`; "" if the trace has no servers.
std::string servers_text(const ServerSummary& summary);
Json servers_json(const ServerSummary& summary);

}  // namespace lockstep::tracer

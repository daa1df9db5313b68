// Lesson 22: a parameter server. Which gradients make an update, and who has to wait?
#include <cstdint>
#include <set>
#include <vector>

#include "engine/sharing/server_access.h"
#include "lessons/plugin.h"

using namespace lockstep;
using sharing::Consistency;  // sync, async, ssp
using sharing::PsOptions;
using sharing::ServerAccess;

/// The server calls this for each gradient that arrives, for one after the other. It is
/// that of `worker`, who is one of `server.arrived()` by now.
///   async, ssp  The gradient is an update of its own.
///   sync        An update is the mean of `server.needed()` gradients. Until so many
///               have arrived, they wait. All must be for the weights that the server
///               has now: a gradient for older ones is discarded.
/// `server.update(workers, scale)` makes an update: the optimizer's step with `scale`
/// times the sum of these workers' gradients, which then have not arrived any more.
/// `server.discard(worker)` forgets a gradient. `server.version()` is the number of
/// updates, and `server.read_version(worker)` the version that the worker pulled last.
void handle_push(ServerAccess& server, const PsOptions& options, int worker) {
  // [solution-async]
  if (options.consistency != Consistency::sync) return server.update({worker}, 1);
  // [/solution-async]
  // [solution-sync]
  if (server.read_version(worker) != server.version()) return server.discard(worker);
  const std::set<int> arrived = server.arrived();
  if (arrived.size() < server.needed()) return;
  server.update(arrived, 1.0 / static_cast<double>(arrived.size()));
  return;
  // [/solution-sync]
  lessons::not_written(
      "handle_push: does this gradient make an update, and with whom?");
}

/// A worker asks for the weights. Returns whether it may have them now. If not, it
/// waits, and the question is asked again after each push.
///   async  always
///   sync   unless its own gradient waits for an update
///   ssp    unless it is more than `options.staleness` steps ahead of one of
///          `server.workers()`, those who still make steps (there may be none).
///          `server.clock(worker)` is the number of steps that a worker has made.
bool may_pull(const ServerAccess& server, const PsOptions& options, int worker) {
  // [solution-pull]
  if (options.consistency == Consistency::async) return true;
  if (options.consistency == Consistency::sync) {
    return !server.arrived().contains(worker);
  }
  for (const int other : server.workers()) {
    if (server.clock(worker) - server.clock(other) > options.staleness) return false;
  }
  return true;
  // [/solution-pull]
  lessons::not_written("may_pull: for whom does this worker have to wait?");
}

/// Returns how stale a gradient can become with `ssp`, in the worst case: the number of
/// updates by others from the pull of its weights to its own update. There are
/// `workers` workers, and each of them may be `staleness` steps ahead when it pulls.
int64_t most_stale(int workers, int64_t staleness) {
  // [solution-stale]
  return (workers - 1) * (2 * staleness + 1);
  // [/solution-stale]
  lessons::not_written("most_stale: how far can another worker go in the meantime?");
}

// The tests find your code through this function; do not change it.
extern "C" int64_t lesson_most_stale(int workers, int64_t staleness) {
  return most_stale(workers, staleness);
}

LOCKSTEP_LESSON(22) {
  sharing::server_push().plug(handle_push);
  sharing::server_may_pull().plug(may_pull);
}

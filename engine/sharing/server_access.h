// What a parameter server does when a gradient arrives, and whom it lets go on, as
// slots.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "engine/runtime/slot.h"

namespace lockstep::sharing {

/// When a worker may go on with its next step.
enum class Consistency {
  sync,   ///< an update is the mean of all workers' gradients, and all wait for it
  async,  ///< each gradient is an update of its own, and nobody waits
  ssp,    ///< as async, but no worker may be more than `staleness` steps ahead
};

struct PsOptions {
  Consistency consistency = Consistency::sync;
  int64_t staleness = 0;  ///< ssp
  int backup = 0;  ///< sync: number of gradients that an update does not wait for
};

/// What a server knows of its workers, and what it may do with their gradients. Must be
/// used only in a call to one of the functions below, which the server makes one after
/// the other.
class ServerAccess {
 public:
  virtual ~ServerAccess() = default;

  /// Returns the number of updates so far: the version of the weights.
  virtual int64_t version() const = 0;
  /// Returns the version that the worker has pulled last.
  virtual int64_t read_version(int worker) const = 0;
  /// Returns the number of steps that the worker has made: of pushes that are over.
  virtual int64_t clock(int worker) const = 0;
  /// Returns the workers that still make steps, ascending. There may be none.
  virtual std::vector<int> workers() const = 0;
  /// Returns the workers whose gradients have arrived and wait to be used.
  virtual const std::set<int>& arrived() const = 0;
  /// Returns the number of gradients in an update with `sync`: as many as workers()
  /// has, or fewer with backup workers.
  virtual size_t needed() const = 0;

  /// Makes an update: the optimizer's step with `scale` times the sum of the gradients
  /// of `workers`, which have arrived. They are used then, so `workers` is a copy: it
  /// may be arrived(). At most one in a push.
  virtual void update(std::set<int> workers, double scale) = 0;
  /// Forgets a gradient that has arrived.
  virtual void discard(int worker) = 0;
};

/// The worker's gradient has arrived: updates the weights, keeps the gradient for a
/// later update, or discards it.
void handle_push(ServerAccess& server, const PsOptions& options, int worker);
/// Returns whether the worker may get the weights now. Otherwise it waits, and the
/// question is asked again after the next push.
bool may_pull(const ServerAccess& server, const PsOptions& options, int worker);

/// The functions that servers call, in slots (runtime/slot.h).
runtime::Slot<decltype(handle_push)>& server_push();
runtime::Slot<decltype(may_pull)>& server_may_pull();

}  // namespace lockstep::sharing

// How ranks on devices that compute nothing tell each other of a signal. On other
// devices, the sum that averages a step's metrics also says it.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/distributed/rendezvous/store.h"

namespace lockstep::train {

/// A note in the ranks' store. All ranks stop after the same step, because none of them
/// begins a step before all have come to the last collective of the step before.
/// Thread-safe. All calls may throw what the store throws.
class StopNotice {
 public:
  explicit StopNotice(std::shared_ptr<distributed::Store> store)
      : store_(std::move(store)) {}

  /// Tells all ranks that `signal` stops them after `step`. To be called before the
  /// rank's last collective of that step.
  void give(int64_t step, int signal);

  /// Returns the signal that stops all ranks after `step`; 0 if they go on. To be
  /// called between the last collective of that step and the next step.
  int read_after(int64_t step);

 private:
  const std::shared_ptr<distributed::Store> store_;
};

}  // namespace lockstep::train

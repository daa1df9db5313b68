// Several ranks in one test: threads with one device each, connected in a ring.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/distributed/collectives/process_group.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons {

/// One rank, running on its own thread.
struct Rank {
  int rank, size;
  Device device;  ///< of type `reference`
  std::shared_ptr<distributed::ProcessGroup> group;
};

/// Runs `work` on every rank, followed by an all-reduce that cannot be confused with
/// any other, so that a rank with too few calls is detected at once. Converts the first
/// std::runtime_error of a rank to Wrong, with `expected` and `because`; propagates
/// other exceptions. A rank waits 15 s for the others.
void on_ranks(int size, const std::string& expected, const Because& because,
              const std::function<void(Rank&)>& work);

}  // namespace lockstep::lessons

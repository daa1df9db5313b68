// Several ranks in one test: threads with a device each, joined by a ring.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/distributed/collectives/process_group.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons {

/// One of them, in its own thread.
struct Rank {
  int rank, size;
  Device device;  ///< of type `reference`
  std::shared_ptr<distributed::ProcessGroup> group;
};

/// Runs `work` on every rank. At the end all ranks meet once more, in an all-reduce
/// that nobody can take for another: so a rank that made fewer calls is found at once.
/// The first rank's std::runtime_error is Wrong, with `expected` and `because`; what
/// mistakes of other kinds throw passes. A rank waits 15 s for the others.
void on_ranks(int size, const std::string& expected, const Because& because,
              const std::function<void(Rank&)>& work);

}  // namespace lockstep::lessons

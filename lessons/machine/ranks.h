// Several ranks in one test: threads with one device each, connected in a ring.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
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

/// Lets rank 0 run ahead, so that code that fails to wait for the other ranks reads a
/// value from before their arrival every time.
class HeadStart {
 public:
  /// Called when rank 0 has enqueued all work of a step.
  void rank_0_is_ahead();
  /// Called by the other ranks in step `step`: waits until rank 0 is ahead, but for at
  /// most 300 ms, since a rank 0 that waits for the others on the host never gets
  /// ahead.
  void wait_for_rank_0(int step);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int steps_ = 0;
};

}  // namespace lockstep::lessons

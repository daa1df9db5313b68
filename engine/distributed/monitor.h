// When a rank dies, hangs or fails, every other one must be able to name it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "engine/distributed/process_group.h"
#include "engine/distributed/store/store.h"

namespace lockstep::distributed {

/// A thread of this rank that, several times per timeout, writes into the store that
/// it is alive and at which collective, and looks whether another rank is gone or has
/// failed; then it aborts the group's communicator, so that nobody waits in vain. (A
/// rank whose neighbour is alive would else learn of a death only at its own timeout.)
class Monitor {
 public:
  Monitor(std::shared_ptr<Store> store, ProcessGroup& group, Milliseconds timeout);
  ~Monitor();

  /// After a failure of this rank, whose exception says `error`: who is to blame, at
  /// which collective, and what to do, in one line. Asks the store for up to 2 s. Tells
  /// the others, if the failure is this rank's own.
  std::string explain(const std::string& error);

 private:
  struct Seen {
    int64_t beat = -1;          ///< a rank's heartbeat counter
    std::string at = "no collective";
    bool gone = false;
    std::string failed;         ///< what it says of its own failure
  };
  void work();
  void beat();
  Seen look(int rank);
  std::string blame_of_others();
  std::string silent_rank();

  std::shared_ptr<Store> store_;
  ProcessGroup& group_;
  const Milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace lockstep::distributed

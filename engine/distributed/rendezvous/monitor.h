// When a rank dies, hangs or fails, every other one must be able to name it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/distributed/collectives/process_group.h"
#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

/// A thread of this rank that, ten times per timeout, writes into the store that it is
/// alive and at which collective, and reads the same of the others. When one is gone or
/// has failed it aborts the group's communicator, so that nobody waits in vain. (A rank
/// whose neighbours are alive would else learn of a death only at its own timeout.)
class Monitor {
 public:
  /// `last_resort` is called on the monitor's thread, with the blame, when this rank
  /// has not noticed for 1.5 s that another one is gone: it may be busy with anything.
  Monitor(std::shared_ptr<Store> store, ProcessGroup& group, Milliseconds timeout,
          std::function<void(const std::string&)> last_resort = {});
  ~Monitor();

  /// After a failure of this rank, whose exception says `error`: who is to blame, at
  /// which collective, and what to do, in one line. Takes a second at most. Tells the
  /// others if the failure is this rank's own.
  std::string explain(const std::string& error);

  /// Does the store still answer? If not, whoever keeps it is to blame.
  bool store_answers() const;

 private:
  /// What is known of a rank.
  struct Seen {
    int64_t beat = -1;                 ///< its heartbeat counter
    int64_t seq = -1;                  ///< of its latest collective
    std::string at = "no collective";  ///< the same in words
    TimePoint changed;                 ///< when its heartbeat was new to us
    bool gone = false;
    std::string failed;  ///< what it says of its own failure
  };

  void work();
  void exchange_news();
  bool act_on(const std::string& blame);
  std::string gone_or_failed() const;
  std::string silent() const;
  std::string behind() const;

  std::shared_ptr<Store> store_;
  ProcessGroup& group_;
  const Milliseconds interval_, timeout_;
  const std::function<void(const std::string&)> last_resort_;

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::vector<Seen> seen_;  ///< by rank
  TimePoint round_began_;   ///< the latest talk with the store
  bool round_over_ = true;
  std::string store_trouble_;
  bool closing_ = false, explaining_ = false;
  TimePoint blamed_at_{};

  std::thread thread_;
};

}  // namespace lockstep::distributed

// Heartbeats between ranks: when a rank dies, hangs or fails, all others name it.
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

/// A thread of this rank that, ten times per timeout (but every 50 ms to 1 s), writes a
/// heartbeat and the rank's latest collective into the store and reads those of the
/// others. When a rank is gone or has failed, it aborts the group's communicator, so
/// that no collective waits for it. (A rank whose own neighbours are alive would
/// otherwise notice a death only at its timeout.) Thread-safe.
class Monitor {
 public:
  /// Calls `last_resort` on the monitor's thread, with the sentence that names the
  /// culprit, if this rank has not called explain() within 1.5 s of a failure
  /// elsewhere: it may be busy with anything. `group` must outlive the monitor.
  Monitor(std::shared_ptr<Store> store, ProcessGroup& group, Milliseconds timeout,
          std::function<void(const std::string&)> last_resort = {});
  ~Monitor();

  /// Call it after a failure of this rank, with its exception's message. Returns in one
  /// line which rank is to blame, at which collective, and what to do. Takes about a
  /// second at most. If the failure is this rank's own, tells the others.
  std::string explain(const std::string& error);

  /// Returns whether the store still answers. If not, rank 0, which keeps it, is to
  /// blame.
  bool store_answers() const;

 private:
  /// What the store said about a rank when last read.
  struct Seen {
    int64_t beat = -1;                 ///< heartbeat counter; −1: none yet
    int64_t seq = -1;                  ///< number of its latest collective
    std::string at = "no collective";  ///< the same in words
    TimePoint changed;                 ///< when we last read a new heartbeat
    bool gone = false;                 ///< the store has lost its connection
    std::string failed;                ///< its own failure's message; empty: none
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
  std::vector<Seen> seen_;     ///< by rank
  TimePoint round_began_;      ///< when the latest exchange with the store began
  bool round_over_ = true;     ///< whether that exchange has ended
  std::string store_trouble_;  ///< the error of the latest exchange; empty: none
  bool closing_ = false;
  bool explaining_ = false;  ///< explain() was called
  TimePoint blamed_at_{};    ///< when a failure was first seen; zero: not yet

  std::thread thread_;
};

}  // namespace lockstep::distributed

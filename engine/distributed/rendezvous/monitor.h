// Heartbeats between ranks: if a rank dies, hangs or fails, all other ranks report it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "engine/distributed/collectives/process_group.h"
#include "engine/distributed/rendezvous/blame.h"
#include "engine/distributed/rendezvous/store.h"

namespace lockstep::distributed {

/// A thread of this rank that periodically (at intervals of a tenth of the timeout, but
/// at least 50 ms and at most 1 s) tells the store a heartbeat and the rank's latest
/// collective, and learns from the answer about the others: one request, whatever their
/// number. If a rank is gone or has failed, the
/// monitor aborts the group's communicator so that no collective waits for that rank.
/// (A rank whose neighbours are alive would otherwise detect a death only at its
/// timeout.) Thread-safe.
class Monitor {
 public:
  /// Calls `last_resort` on the monitor's thread, with the message naming the culprit,
  /// if this rank, which may be busy elsewhere, has not called explain() within 1.5 s
  /// of a failure on another rank. `group` must outlive the monitor.
  Monitor(std::shared_ptr<Store> store, ProcessGroup& group, Milliseconds timeout,
          std::function<void(const std::string&)> last_resort = {});
  ~Monitor();

  /// Call after a failure of this rank, with the exception's message. Returns one line
  /// naming the rank to blame, its collective, and a fix. Takes at most about a second.
  /// If this process was itself stopped for more than half of the timeout, which is why
  /// the others may have ended, the line says so first.
  /// If this rank caused the failure, notifies the others.
  std::string explain(const std::string& error);

  /// Also aborts the collectives of `group`, of some of the ranks, after a failure, or
  /// when a rank has had no heartbeat for three quarters of the timeout. The calls of
  /// the monitor's own group are then in no order that ranks could be behind in. Must
  /// be called before another thread uses the monitor; `group` must outlive it.
  void also_abort(ProcessGroup& group) { other_group_ = &group; }

  /// After also_abort(): ranks may end from here on, so none is expected to live.
  void let_ranks_end() { ranks_end_ = true; }

  /// For a thread that waits for an answer through the store: throws std::runtime_error
  /// if a rank has failed or, after also_abort(), hangs.
  void require_all() const;

  /// Returns whether the store still responds. If not, rank 0, which hosts it, is to
  /// blame.
  bool store_answers() const;

 private:
  void work();
  void exchange_news();
  /// What the latest call of this rank came to.
  enum class Call { unfinished, broke, timed_out, failed };
  /// A rank to blame, and the message that says so; empty if there is none.
  struct Named {
    Blame blame;
    std::string words;
  };

  bool act_on(const Named& named);
  Named name_culprit(Call call, bool store_answers, const std::string& error) const;
  Milliseconds patience(Call call) const;
  std::string in_words(const Blame& blame, const std::string& error) const;
  std::string without_store(Call call, const std::string& error) const;
  std::string reason_for(const std::string& error);
  void note_pause(TimePoint began);
  std::string after_own_silence(std::string reason);

  std::shared_ptr<Store> store_;
  ProcessGroup& group_;
  const Milliseconds interval_, timeout_;
  const std::function<void(const std::string&)> last_resort_;
  std::atomic<ProcessGroup*> other_group_{nullptr};
  std::atomic<bool> ranks_end_{false};

  mutable std::mutex mutex_;  ///< guards all members below
  std::condition_variable changed_;
  Health news_;                ///< the store's latest answer
  TimePoint round_began_;      ///< start of the latest exchange with the store
  bool round_over_ = true;     ///< whether that exchange has finished
  std::string store_trouble_;  ///< error of the latest exchange; empty if none
  Named named_;                ///< for the latest failure of another rank
  bool closing_ = false;
  bool explaining_ = false;    ///< explain() was called
  TimePoint waits_since_{};    ///< start of the pause between two rounds; zero: none
  Milliseconds oversleep_{0};  ///< by how much the latest long pause was too long
  TimePoint overslept_at_{};   ///< its end
  TimePoint blamed_at_{};      ///< time of the first observed failure; zero if none

  std::thread thread_;
};

}  // namespace lockstep::distributed

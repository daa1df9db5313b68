// What workers of one model agree on, in memory that they share: threads of a process,
// or processes that map the same memory.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/deadline.h"

namespace lockstep::sharing {

inline constexpr int kMaxWorkers = 128;

/// A lock that works between processes, and knows if its holder has died.
class RobustMutex {
 public:
  enum class Found { free, held, holder_died };

  void initialise();
  /// Waits for the lock, and gets it. Returns false if its holder had died.
  bool lock();
  void unlock();
  /// Returns whether the lock is free, held, or held by a thread that has ended.
  Found look();

 private:
  bool take_over(int error);

  pthread_mutex_t mutex_;
};

/// A counter that processes can wait for (a futex).
class SharedCounter {
 public:
  uint32_t load() const { return value_.load(std::memory_order_acquire); }
  /// Adds 1 and wakes those who wait.
  void advance();
  /// Waits until the counter differs from `value`, for at most 50 ms.
  void wait_a_little(uint32_t value) const;
  void wake() const;

 private:
  std::atomic<uint32_t> value_{0};
};
static_assert(sizeof(SharedCounter) == sizeof(uint32_t));

/// A place where all workers meet, round after round.
struct Meeting {
  RobustMutex mutex;  ///< guards the next three
  int arrived = 0;
  bool all = true, agreed = true;
  SharedCounter round;
  std::array<std::atomic<uint32_t>, kMaxWorkers> rounds_of{};  ///< reached, by worker
};

/// A lock whose waiters get it in the order in which they asked.
struct LockState {
  std::atomic<uint32_t> next_ticket{0};
  SharedCounter serving;  ///< the ticket whose turn it is
  RobustMutex held;       ///< while a worker has the lock; guards `last_event`
  std::atomic<int> holder{-1};
  std::atomic<int> dead_holder{-1};
  int last_worker = -1;
  int64_t last_event = -1;  ///< of `last_worker`, with which it released the lock
};

/// Whether a worker's process lives. See DeathWatch.
enum class Presence { not_yet, here, left, dead };
struct Life {
  RobustMutex alive;  ///< held from the beginning to the end
  std::atomic<Presence> presence{Presence::not_yet};
};

/// Everything but the weights.
struct SharedState {
  std::atomic<int64_t> version{0}, staleness{0}, lost{0}, written{0}, conflicts{0};
  std::atomic<int> stop{0};  ///< the first signal that told a worker to stop; 0: none
  std::array<std::atomic<uint32_t>, kMaxWorkers> beats{};  ///< steps begun or ended
  Meeting meeting;                                         ///< where workers agree
  Meeting gate;  ///< where recording begins and ends
  LockState lock;
  std::array<Life, kMaxWorkers> lives;

  /// Constructs the state in memory of sizeof(SharedState) bytes.
  static void construct(char* memory);
};

/// How one worker waits for others.
class Patience {
 public:
  /// `worker`: this one, if each worker is a process; it then waits for at most
  /// `timeout` for one that makes no progress. −1: workers are threads.
  Patience(const SharedState& state, int worker, Milliseconds timeout)
      : state_(state), worker_(worker), timeout_(timeout) {}

  int worker() const { return worker_; }
  Milliseconds timeout() const { return worker_ < 0 ? Milliseconds(0) : timeout_; }
  const SharedState& state() const { return state_; }

  /// Throws std::runtime_error with the message of `abandon`, if it was called.
  void require_usable() const;
  void abandon(const std::string& why);
  bool abandoned() const;

 private:
  const SharedState& state_;
  const int worker_;
  const Milliseconds timeout_;
  mutable std::mutex mutex_;
  std::string why_;
};

/// Waits until all `workers` have come to the meeting. Returns whether all passed
/// `mine`. If `stop` is given, also returns, with false and without having met, when a
/// worker is told to stop. Throws std::runtime_error naming a worker that does not come
/// and makes no step within the timeout.
bool meet(Meeting& meeting, int workers, bool mine, const Patience& patience,
          const std::atomic<bool>* stop = nullptr);

}  // namespace lockstep::sharing

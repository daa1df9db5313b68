// A point in a stream's work that others can wait for, as cudaEvent_t.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/runtime/driver.h"

namespace lockstep::runtime {

class Stream;

/// A recorded kernel or copy: its event id, and the stream on which it runs.
struct TraceEnd {
  int64_t id;
  const Stream* stream;
};

/// Signalled once, when the task that it stands for is over. Thread-safe.
class Event {
 public:
  explicit Event(std::vector<TraceEnd> ends) : ends_(std::move(ends)) {}

  /// Returns whether the task is over. Does not block.
  bool done() const { return state_.load(std::memory_order_acquire) == kDone; }

  /// Blocks until the task is over.
  void wait() const {
    for (int now = state_.load(std::memory_order_acquire); now != kDone;
         now = state_.load(std::memory_order_acquire)) {
      state_.wait(now, std::memory_order_acquire);
    }
  }

  /// Must be called once, when the task is over. `now` is its end (ns); 0 when nothing
  /// is recorded.
  void signal(int64_t now = 0) {
    ended_ = now;
    become(kDone);
  }

  /// With hardware, must be called before `signal`: the task has been put into a
  /// hardware queue and is over at `mark`.
  void hand_over(MarkPtr mark) {
    mark_ = std::move(mark);
    become(kHandedOver);
  }

  /// Blocks until `hand_over` or `signal` was called. Returns the mark; null if the
  /// task does not run in a hardware queue.
  const Mark* handed_over() const {
    state_.wait(kOpen, std::memory_order_acquire);
    return mark_.get();
  }

  /// Returns when the task ended (ns). Must not be called before done().
  int64_t ended() const { return ended_; }

  /// Returns the recorded tasks that are over when this event is signalled, for
  /// `args.deps`: one, or several where streams join, the stream's own first; none if
  /// nothing was recorded.
  const std::vector<TraceEnd>& ends() const { return ends_; }

 private:
  static constexpr int kOpen = 0, kHandedOver = 1, kDone = 2;
  void become(int state) {
    state_.store(state, std::memory_order_release);
    state_.notify_all();
  }

  std::atomic<int> state_{kOpen};
  MarkPtr mark_;       ///< written before kHandedOver
  int64_t ended_ = 0;  ///< written before kDone
  const std::vector<TraceEnd> ends_;
};

using EventPtr = std::shared_ptr<Event>;

}  // namespace lockstep::runtime

// A point in a stream's work that can be waited for, like cudaEvent_t.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/runtime/driver.h"

namespace lockstep::runtime {

class Stream;

/// A recorded kernel or copy: its event id and the stream on which it runs.
struct TraceEnd {
  int64_t id;
  const Stream* stream;
};

/// Signalled once, when the task that it represents has completed. Thread-safe.
class Event {
 public:
  explicit Event(std::vector<TraceEnd> ends) : ends_(std::move(ends)) {}

  /// Returns true if the task has completed. Does not block.
  bool done() const { return state_.load(std::memory_order_acquire) == kDone; }

  /// Blocks until the task has completed.
  void wait() const {
    for (int now = state_.load(std::memory_order_acquire); now != kDone;
         now = state_.load(std::memory_order_acquire)) {
      state_.wait(now, std::memory_order_acquire);
    }
  }

  /// Must be called exactly once, when the task has completed. `now` is its end time
  /// (ns), or 0 if nothing is recorded.
  void signal(int64_t now = 0) {
    ended_ = now;
    become(kDone);
  }

  /// Announces that another stream or the host waits for this event, so that a
  /// hardware queue marks it alone instead of together with later tasks.
  void want() { wanted_.store(true, std::memory_order_relaxed); }
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }

  /// For hardware queues, must be called before `signal`, once the task has been
  /// submitted to a queue; the task completes at `mark`. A `captured` task
  /// (graph_capture.h) does not run: `signal` is called when the capture ends.
  void hand_over(MarkPtr mark, bool captured = false) {
    mark_ = std::move(mark);
    captured_ = captured;
    become(kHandedOver);
  }

  /// Blocks until `hand_over` or `signal` has been called. Returns the mark, or null if
  /// the task does not run in a hardware queue.
  const Mark* handed_over() const {
    state_.wait(kOpen, std::memory_order_acquire);
    return mark_.get();
  }

  /// Blocks as `handed_over` does. Returns whether the task's capture has yet to end.
  bool captured() const {
    handed_over();
    return captured_ && !done();
  }

  /// Returns the time at which the task ended (ns). REQUIRES: done().
  int64_t ended() const { return ended_; }

  /// Returns the recorded tasks that have completed when this event is signalled, for
  /// `args.deps`: one, or several where streams join (the stream's own first), or none
  /// if nothing was recorded.
  const std::vector<TraceEnd>& ends() const { return ends_; }

 private:
  static constexpr int kOpen = 0, kHandedOver = 1, kDone = 2;
  void become(int state) {
    state_.store(state, std::memory_order_release);
    state_.notify_all();
  }

  std::atomic<int> state_{kOpen};
  std::atomic<bool> wanted_{false};
  MarkPtr mark_;           ///< written before kHandedOver
  bool captured_ = false;  ///< likewise
  int64_t ended_ = 0;      ///< written before kDone
  const std::vector<TraceEnd> ends_;
};

using EventPtr = std::shared_ptr<Event>;

}  // namespace lockstep::runtime

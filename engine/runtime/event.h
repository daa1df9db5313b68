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

/// A kernel or copy of the trace, and where it ran.
struct TraceEnd {
  int64_t id;
  const Stream* stream;
};

/// Signalled once, when the task before it is over. Thread-safe.
class Event {
 public:
  explicit Event(std::vector<TraceEnd> ends) : ends_(std::move(ends)) {}

  bool done() const { return state_.load(std::memory_order_acquire) == kDone; }
  void wait() const {
    for (int now = state_.load(std::memory_order_acquire); now != kDone;
         now = state_.load(std::memory_order_acquire)) {
      state_.wait(now, std::memory_order_acquire);
    }
  }
  /// `now` (ns): when the work ended; 0 when nobody records.
  void signal(int64_t now = 0) {
    ended_ = now;
    become(kDone);
  }

  /// Before `signal`, where hardware does the work: it lies in a queue, up to `mark`.
  void hand_over(MarkPtr mark) {
    mark_ = std::move(mark);
    become(kHandedOver);
  }
  /// Blocks until the work is handed over or over. Returns the place in the queue; null
  /// if no hardware does it.
  const Mark* handed_over() const {
    state_.wait(kOpen, std::memory_order_acquire);
    return mark_.get();
  }

  /// When it ended. REQUIRES: done().
  int64_t ended() const { return ended_; }

  /// What ends here, for `args.deps`: one kernel or copy, or several where streams
  /// meet, the stream's own first; nothing when unrecorded.
  const std::vector<TraceEnd>& ends() const { return ends_; }

 private:
  static constexpr int kOpen = 0, kHandedOver = 1, kDone = 2;
  void become(int state) {
    state_.store(state, std::memory_order_release);
    state_.notify_all();
  }

  std::atomic<int> state_{kOpen};
  MarkPtr mark_;
  int64_t ended_ = 0;
  std::vector<TraceEnd> ends_;
};

using EventPtr = std::shared_ptr<Event>;

}  // namespace lockstep::runtime

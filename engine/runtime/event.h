// A point in a stream's work that others can wait for, as cudaEvent_t.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace lockstep::runtime {

/// Signalled once, by the worker that finished the task before it. Thread-safe.
class Event {
 public:
  explicit Event(int64_t trace_id) : trace_id_(trace_id) {}

  bool done() const { return done_.load(std::memory_order_acquire) != 0; }
  void wait() const { done_.wait(0, std::memory_order_acquire); }
  /// `now` (ns): when the work ended; 0 when nobody records.
  void signal(int64_t now = 0) {
    ended_ = now;
    done_.store(1, std::memory_order_release);
    done_.notify_all();
  }

  /// When it ended. REQUIRES: done().
  int64_t ended() const { return ended_; }

  /// Id of the kernel or copy that ends here, for `args.deps`; kNone when unrecorded.
  int64_t trace_id() const { return trace_id_; }

 private:
  std::atomic<int> done_{0};
  int64_t ended_ = 0;
  int64_t trace_id_;
};

using EventPtr = std::shared_ptr<Event>;

}  // namespace lockstep::runtime

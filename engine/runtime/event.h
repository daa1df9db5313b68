// A point in a stream's work that others can wait for, as cudaEvent_t.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep::runtime {

class Stream;

/// A kernel or copy of the trace, and where it ran.
struct TraceEnd {
  int64_t id;
  const Stream* stream;
};

/// Signalled once, by the worker that finished the task before it. Thread-safe.
class Event {
 public:
  explicit Event(std::vector<TraceEnd> ends) : ends_(std::move(ends)) {}

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

  /// What ends here, for `args.deps`: one kernel or copy, or several where streams
  /// meet, the stream's own first; nothing when unrecorded.
  const std::vector<TraceEnd>& ends() const { return ends_; }

 private:
  std::atomic<int> done_{0};
  int64_t ended_ = 0;
  std::vector<TraceEnd> ends_;
};

using EventPtr = std::shared_ptr<Event>;

}  // namespace lockstep::runtime

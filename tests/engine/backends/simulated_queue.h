// The queue of a simulated GPU: a thread that runs work in order, after the worker that
// launched it has continued. It enforces CUDA's rules about events and captures.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/runtime/driver.h"
#include "tracer/record/recorder.h"

namespace lockstep::test {

class FakeQueue;
struct Capture;

/// How much of each queue's captured work a point in a capture comes after.
using Covered = std::map<const FakeQueue*, size_t>;

class FakeMark : public runtime::Mark, public std::enable_shared_from_this<FakeMark> {
 public:
  FakeMark() = default;
  FakeMark(std::weak_ptr<Capture> in, Covered by)
      : captured(true), capture(std::move(in)), covered(std::move(by)) {}

  void wait() const override {
    if (captured) throw std::runtime_error("cudaErrorCapturedEvent");
    reached_.wait(false, std::memory_order_acquire);
  }
  int64_t time() const override { return time_; }
  /// Simulates clock error: the time is early by a varying number of microseconds.
  void reach() {
    static std::atomic<int64_t> calls = 0;
    time_ = tracer::now_ns() - calls++ * 7919 % 20'000;
    reached_.store(true, std::memory_order_release);
    reached_.notify_all();
  }

  const bool captured = false;
  const std::weak_ptr<Capture> capture;  ///< which contains the mark, if `captured`
  const Covered covered;                 ///< in `capture`

 private:
  std::atomic<bool> reached_{false};
  int64_t time_ = 0;
};
using FakeMarkPtr = std::shared_ptr<const FakeMark>;

/// What one queue has captured: work, and the marks before and after it.
struct Captured {
  std::function<void()> work;
  FakeMarkPtr awaited, reached;
};

/// The work of one or more queues that is captured instead of being run. As CUDA's
/// graphs, it is not thread-safe: TSan finds calls that are concurrent.
struct Capture {
  std::map<const FakeQueue*, std::vector<Captured>> lanes;
  std::atomic<bool> ended = false;

  std::vector<Captured>& lane(const FakeQueue* queue) { return lanes[queue]; }
};

class FakeQueue : public runtime::Queue {
 public:
  FakeQueue() : thread_([this] { work(); }) {}
  ~FakeQueue() override;
  /// Returns the calling worker's queue.
  static FakeQueue& current();

  void bind() override;
  /// Like CUDA, lets a queue that waits for a captured mark join the capture, and
  /// refuses all other waits across the border of a capture.
  void wait(const runtime::Mark& mark) override;
  runtime::MarkPtr mark(bool timed) override;
  void begin_capture() override;
  /// Throws if a queue has joined the capture, and this one does not wait for its end.
  runtime::GraphPtr end_capture() override;
  void launch(const runtime::Graph& graph) override;
  void begin_range(const char*) override {}
  void end_range() override {}
  /// Runs `work` later, or captures it.
  void launch(std::function<void()> work);

  bool capturing() const { return capture_ && !capture_->ended; }

  /// Returns how many launches have not run yet, in all queues.
  static int64_t unfinished();

 private:
  void work();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool closing_ = false;
  // Used by the stream's worker:
  std::shared_ptr<Capture> capture_;
  Covered covered_;
  std::thread thread_;
};

}  // namespace lockstep::test

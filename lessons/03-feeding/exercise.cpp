// Lesson 03: the bounded queue between a DataLoader's workers and the training loop.
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/data/batch_queue.h"
#include "lessons/plugin.h"

using namespace lockstep;
using data::Made;  // a batch, or the exception thrown in its place

/// Batches are numbered from 0. Several workers reserve, make and put batches, each at
/// its own pace; one thread, the training loop, takes them in ascending order. At any
/// time at most `depth` batches are reserved but not yet taken.
///
/// Waiting threads must sleep: use std::condition_variable's `wait(lock, condition)`,
/// with a std::mutex around everything that several threads access. All calls may
/// happen concurrently.
class PrefetchQueue : public data::BatchQueue {
 public:
  explicit PrefetchQueue(int64_t depth) : depth_(depth) {}

  /// Waits until there is room for batch `number`, that is, number < taken + depth
  /// (`taken`: the number of batches taken). Returns true if the caller may make it,
  /// false if the queue was closed and the worker must end.
  bool reserve(int64_t number) override {
    // [solution-reserve]
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return closed_ || number < taken_ + depth_; });
    return !closed_;
    // [/solution-reserve]
    lessons::not_written("reserve: wait until batch `number` has a place");
  }

  /// Stores batch `number`, which was reserved. Never waits for another call.
  void put(int64_t number, Made made) override {
    // [solution-put]
    {
      std::lock_guard lock(mutex_);
      places_[number % depth_] = std::move(made);
    }
    ready_.notify_one();
    return;
    // [/solution-put]
    lessons::not_written("put: store batch `number`, and wake the waiting thread");
  }

  /// Waits until the next batch in order (0, 1, 2, …) has arrived, and returns it. An
  /// error is returned like a batch: the caller of next() throws it. The queue no
  /// longer holds what it has returned.
  Made take() override {
    // [solution-take]
    std::unique_lock lock(mutex_);
    std::optional<Made>& oldest = places_[taken_ % depth_];
    ready_.wait(lock, [&] { return oldest.has_value(); });
    Made made = std::move(*std::exchange(oldest, std::nullopt));
    ++taken_;
    lock.unlock();
    room_.notify_all();
    return made;
    // [/solution-take]
    lessons::not_written("take: the next batch in order, and room for another");
  }

  /// Training stops: every worker's `reserve` returns false, now and later.
  void close() override {
    // [solution-close]
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
    return;
    // [/solution-close]
    lessons::not_written("close: wake every worker that waits");
  }

 private:
  const int64_t depth_;
  // [solution-members]
  std::mutex mutex_;               // guards the rest
  std::condition_variable room_;   // workers wait for it
  std::condition_variable ready_;  // the training loop waits for it
  std::vector<std::optional<Made>> places_{static_cast<size_t>(depth_)};
  int64_t taken_ = 0;
  bool closed_ = false;
  // [/solution-members]
};

LOCKSTEP_LESSON(3) {
  data::batch_queue().plug(
      [](int64_t depth) { return std::make_unique<PrefetchQueue>(depth); });
}

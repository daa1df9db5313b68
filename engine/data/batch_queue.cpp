#include "engine/data/batch_queue.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace lockstep::data {
namespace {

/// A ring of `depth` places: batch b occupies place b % depth.
class RingQueue : public BatchQueue {
 public:
  explicit RingQueue(int64_t depth) : places_(depth) {}

  bool reserve(int64_t number) override {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return closed_ || number < taken_ + depth(); });
    return !closed_;
  }

  void put(int64_t number, Made made) override {
    {
      std::lock_guard lock(mutex_);
      places_[number % depth()] = std::move(made);
    }
    ready_.notify_one();
  }

  Made take() override {
    Made made;
    {
      std::unique_lock lock(mutex_);
      std::optional<Made>& oldest = places_[taken_ % depth()];
      ready_.wait(lock, [&] { return oldest.has_value(); });
      made = std::move(*std::exchange(oldest, std::nullopt));
      ++taken_;
    }
    room_.notify_all();
    return made;
  }

  std::optional<Made> take_within(double seconds) override {
    {
      std::unique_lock lock(mutex_);
      const std::optional<Made>& oldest = places_[taken_ % depth()];
      const std::chrono::duration<double> patience(seconds);
      if (!ready_.wait_for(lock, patience, [&] { return oldest.has_value(); })) {
        return std::nullopt;
      }
    }
    return take();
  }

  void close() override {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    room_.notify_all();
  }

 private:
  int64_t depth() const { return static_cast<int64_t>(places_.size()); }

  std::mutex mutex_;               // guards the members below
  std::condition_variable room_;   // notified when a place is freed; workers wait
  std::condition_variable ready_;  // notified when a place is filled; take() waits
  std::vector<std::optional<Made>> places_;
  int64_t taken_ = 0;
  bool closed_ = false;
};

}  // namespace

std::optional<Made> BatchQueue::take_within(double /*seconds*/) { return take(); }

runtime::Slot<MakeBatchQueue>& batch_queue() {
  static runtime::Slot<MakeBatchQueue> in_use(
      "batch_queue", [](int64_t depth) { return std::make_unique<RingQueue>(depth); });
  return in_use;
}

}  // namespace lockstep::data

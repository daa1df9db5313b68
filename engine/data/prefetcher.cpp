#include "engine/data/prefetcher.h"

#include <algorithm>
#include <utility>

namespace lockstep::data {

Prefetcher::Prefetcher(Make make, int64_t batches, int workers, int64_t depth)
    : make_(std::move(make)),
      batches_(batches),
      workers_(workers),
      slots_(std::clamp<int64_t>(batches, 1, depth)) {
  for (int worker = 0; worker < workers && worker < batches; ++worker) {
    threads_.emplace_back(
        [this, worker](const std::stop_token& stop) { work(stop, worker); });
  }
}

void Prefetcher::work(const std::stop_token& stop, int worker) {
  const auto depth = static_cast<int64_t>(slots_.size());
  for (int64_t batch = worker; batch < batches_; batch += workers_) {
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, stop, [&] { return batch < taken_ + depth; });
      if (stop.stop_requested()) return;
    }
    Slot made = make(batch, worker);  // outside the lock: this is the work
    {
      std::lock_guard lock(mutex_);
      slots_[batch % depth] = std::move(made);
    }
    ready_.notify_one();
  }
}

Prefetcher::Slot Prefetcher::make(int64_t batch, int worker) const {
  try {
    return {make_(batch, worker), nullptr};
  } catch (...) {
    return {std::nullopt, std::current_exception()};
  }
}

std::optional<Batch> Prefetcher::next() {
  Slot slot;
  {
    std::unique_lock lock(mutex_);
    if (taken_ == batches_) return std::nullopt;
    Slot& oldest = slots_[taken_ % static_cast<int64_t>(slots_.size())];
    ready_.wait(lock, [&] { return oldest.full(); });
    slot = std::exchange(oldest, {});
    ++taken_;
  }
  room_.notify_all();
  if (slot.error) std::rethrow_exception(slot.error);
  return std::move(slot.batch);
}

Prefetcher::~Prefetcher() {
  for (auto& thread : threads_) thread.request_stop();
}

}  // namespace lockstep::data

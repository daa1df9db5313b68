#include "engine/data/prefetcher.h"

#include <algorithm>
#include <utility>

namespace lockstep::data {

Prefetcher::Prefetcher(Make make, int64_t batches, int workers, int64_t depth)
    : make_(std::move(make)),
      batches_(batches),
      workers_(workers),
      queue_(batch_queue()(std::clamp<int64_t>(batches, 1, depth))) {
  for (int worker = 0; worker < workers && worker < batches; ++worker) {
    threads_.emplace_back([this, worker] { work(worker); });
  }
}

void Prefetcher::work(int worker) {
  for (int64_t batch = worker; batch < batches_; batch += workers_) {
    if (!queue_->reserve(batch)) return;
    queue_->put(batch, make(batch, worker));
  }
}

Made Prefetcher::make(int64_t batch, int worker) const {
  try {
    return {make_(batch, worker), nullptr};
  } catch (...) {
    return {std::nullopt, std::current_exception()};
  }
}

std::optional<Batch> Prefetcher::next() {
  if (taken_ == batches_) return std::nullopt;
  Made made = queue_->take();
  ++taken_;
  if (made.error) std::rethrow_exception(made.error);
  return std::move(made.batch);
}

Prefetcher::~Prefetcher() { queue_->close(); }

}  // namespace lockstep::data

#include "engine/data/prefetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep::data {

Prefetcher::Prefetcher(Make make, int64_t batches, int workers, int64_t depth,
                       double timeout, int64_t first)
    : make_(std::move(make)),
      batches_(batches),
      workers_(workers),
      timeout_(timeout),
      first_(first),
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
    return {make_(first_ + batch, worker), nullptr};
  } catch (...) {
    return {std::nullopt, std::current_exception()};
  }
}

std::optional<Batch> Prefetcher::next() {
  if (taken_ == batches_) return std::nullopt;
  Made made = take();
  ++taken_;
  if (made.error) std::rethrow_exception(made.error);
  return std::move(made.batch);
}

Made Prefetcher::take() {
  if (timeout_ <= 0) return queue_->take();
  if (auto made = queue_->take_within(timeout_)) return std::move(*made);
  throw LoaderTimeout(fmt::format(
      "DataLoader timed out after {} seconds: worker {} has not produced batch {}",
      timeout_, taken_ % workers_, first_ + taken_));
}

void Prefetcher::abandon() {
  queue_->close();
  for (std::jthread& thread : threads_) thread.detach();
}

Prefetcher::~Prefetcher() { queue_->close(); }

}  // namespace lockstep::data

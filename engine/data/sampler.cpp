#include "engine/data/sampler.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/plan/sampler_indices.h"
#include "engine/tensor/philox.h"

namespace lockstep::data {

std::vector<int64_t> SequentialSampler::indices(int64_t /*epoch*/) const {
  std::vector<int64_t> order(length_);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int64_t> RandomSampler::indices(int64_t epoch) const {
  const Philox philox{seed_};
  const uint64_t stream = fnv1a64("shuffle") + static_cast<uint64_t>(epoch);

  std::vector<int64_t> order(length_);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t last = length_ - 1; last > 0; --last) {
    const double draw = philox.uniform(last, stream);
    std::swap(order[last], order[static_cast<int64_t>(draw * (last + 1))]);
  }
  return order;
}

DistributedSampler::DistributedSampler(std::shared_ptr<const Sampler> all, int rank,
                                       int world, bool drop_last)
    : all_(std::move(all)), rank_(rank), world_(world), drop_last_(drop_last) {}

int64_t DistributedSampler::size() const {
  return plan::distributed_count(all_->size(), world_, drop_last_);
}

std::vector<int64_t> DistributedSampler::indices(int64_t epoch) const {
  return plan::distributed_indices(all_->indices(epoch), rank_, world_, drop_last_);
}

std::vector<int64_t> RangeSampler::indices(int64_t /*epoch*/) const {
  std::vector<int64_t> order(size());
  std::iota(order.begin(), order.end(), first_);
  return order;
}

int64_t batch_count(int64_t samples, int64_t batch_size, bool drop_last) {
  const bool short_one = samples % batch_size != 0 && !drop_last;
  return samples / batch_size + (short_one ? 1 : 0);
}

std::vector<std::vector<int64_t>> cut_batches(const std::vector<int64_t>& indices,
                                              int64_t batch_size, bool drop_last) {
  const auto samples = static_cast<int64_t>(indices.size());
  std::vector<std::vector<int64_t>> batches(
      batch_count(samples, batch_size, drop_last));
  for (int64_t b = 0; b < static_cast<int64_t>(batches.size()); ++b) {
    const int64_t begin = b * batch_size;
    const int64_t end = std::min(begin + batch_size, samples);
    batches[b].assign(indices.begin() + begin, indices.begin() + end);
  }
  return batches;
}

}  // namespace lockstep::data

// Samplers: the order in which an epoch visits its samples, and its division into
// batches.
// Corresponds to PyTorch's torch.utils.data.sampler.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace lockstep::data {

/// The order of an epoch: a pure function of its number, thread-safe and repeatable.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual int64_t size() const = 0;
  virtual std::vector<int64_t> indices(int64_t epoch) const = 0;
};

/// Visits 0, 1, 2, … in every epoch.
class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(int64_t length) : length_(length) {}
  int64_t size() const override { return length_; }
  std::vector<int64_t> indices(int64_t epoch) const override;

 private:
  int64_t length_;
};

/// Visits a different permutation in each epoch: a Fisher-Yates shuffle (from the end)
/// with the Philox stream of (seed, epoch).
class RandomSampler : public Sampler {
 public:
  RandomSampler(int64_t length, uint64_t seed) : length_(length), seed_(seed) {}
  int64_t size() const override { return length_; }
  std::vector<int64_t> indices(int64_t epoch) const override;

 private:
  int64_t length_;
  uint64_t seed_;
};

/// One rank's share of another sampler's order: every `world`-th sample starting at
/// `rank`, padded (or truncated, with `drop_last`) to an equal number per rank. Like
/// PyTorch's DistributedSampler, but `indices` takes the epoch instead of `set_epoch`.
class DistributedSampler : public Sampler {
 public:
  DistributedSampler(std::shared_ptr<const Sampler> all, int rank, int world,
                     bool drop_last = false);
  int64_t size() const override;
  std::vector<int64_t> indices(int64_t epoch) const override;

 private:
  std::shared_ptr<const Sampler> all_;
  int rank_, world_;
  bool drop_last_;
};

/// Visits the samples [first, length) in order.
class RangeSampler : public Sampler {
 public:
  RangeSampler(int64_t first, int64_t length) : first_(first), length_(length) {}
  int64_t size() const override { return length_ - first_; }
  std::vector<int64_t> indices(int64_t epoch) const override;

 private:
  int64_t first_, length_;
};

/// Returns the number of batches: rounded up, or down with `drop_last`.
int64_t batch_count(int64_t samples, int64_t batch_size, bool drop_last);

/// Returns consecutive groups of `batch_size` indices, like PyTorch's BatchSampler. A
/// short last group is kept unless `drop_last` is set.
std::vector<std::vector<int64_t>> cut_batches(const std::vector<int64_t>& indices,
                                              int64_t batch_size, bool drop_last);

}  // namespace lockstep::data

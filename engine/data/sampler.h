// Samplers: the order in which an epoch visits its samples, and its cut into batches.
// PyTorch's torch.utils.data.sampler.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::data {

/// An epoch's order. A pure function of the epoch: thread-safe, repeatable.
class Sampler {
 public:
  virtual ~Sampler() = default;
  virtual int64_t size() const = 0;
  virtual std::vector<int64_t> indices(int64_t epoch) const = 0;
};

/// 0, 1, 2, … in every epoch.
class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(int64_t length) : length_(length) {}
  int64_t size() const override { return length_; }
  std::vector<int64_t> indices(int64_t epoch) const override;

 private:
  int64_t length_;
};

/// Each epoch a permutation of its own: Fisher and Yates' shuffle (from the end) with
/// the Philox stream of (seed, epoch).
class RandomSampler : public Sampler {
 public:
  RandomSampler(int64_t length, uint64_t seed) : length_(length), seed_(seed) {}
  int64_t size() const override { return length_; }
  std::vector<int64_t> indices(int64_t epoch) const override;

 private:
  int64_t length_;
  uint64_t seed_;
};

/// How many batches `samples` make: rounded up, or down with `drop_last`.
int64_t batch_count(int64_t samples, int64_t batch_size, bool drop_last);

/// PyTorch's BatchSampler: consecutive pieces of `batch_size`. The last one may be
/// short, and is a batch like the others unless `drop_last`.
std::vector<std::vector<int64_t>> cut_batches(const std::vector<int64_t>& indices,
                                              int64_t batch_size, bool drop_last);

}  // namespace lockstep::data

// Lesson 19: sharding. Which samples does each rank read, and how is it evaluated?
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "engine/data/rank_sampler.h"
#include "lessons/plugin.h"

using namespace lockstep;

/// One rank's part of a data set, as PyTorch's DistributedSampler.
///
/// `share_` has `length` (samples of the data set), `rank`, `world` (how many ranks),
/// `shuffle`, `seed` and `drop_last`. Ranks do not talk to each other.
class Shard {
 public:
  explicit Shard(const data::Share& share) : share_(share) {}

  /// `__len__`: how many samples this rank reads in an epoch, the same number on every
  /// rank: length / world, rounded up, so that every sample is read. With `drop_last`,
  /// rounded down, so that none is read twice: 0 if there are fewer samples than ranks.
  int64_t size() const {
    // [solution-size]
    if (share_.drop_last) return share_.length / share_.world;
    return (share_.length + share_.world - 1) / share_.world;
    // [/solution-size]
    lessons::not_written("size: how many samples does each rank read?");
  }

  /// Given: PyTorch's is as short.
  void set_epoch(int64_t epoch) { epoch_ = epoch; }

  /// `__iter__`: the samples that this rank reads in this epoch.
  ///
  /// All samples have an order: 0, 1, 2, … or, with `shuffle`, that of
  /// `data::RandomSampler(length, seed).indices(epoch)`, which is another one for every
  /// seed and epoch. This rank reads those at positions rank, rank + world, rank + 2
  /// world, … of it. Where the order ends, it begins again (with very few samples, more
  /// than once).
  std::vector<int64_t> indices() const {
    // [solution-indices]
    std::vector<int64_t> order(share_.length);
    std::iota(order.begin(), order.end(), 0);
    if (share_.shuffle) {
      order = data::RandomSampler(share_.length, share_.seed).indices(epoch_);
    }
    std::vector<int64_t> mine;
    for (int64_t k = 0; k < size(); ++k) {
      mine.push_back(order[(share_.rank + k * share_.world) % share_.length]);
    }
    return mine;
    // [/solution-indices]
    lessons::not_written("indices: an order that all ranks share, and this rank's");
  }

  const data::Share& share() const { return share_; }

 private:
  data::Share share_;
  int64_t epoch_ = 0;
};

/// Trains from epoch `first` to epoch `last`, `last` included. `first` is not 0 if
/// training is resumed, and last + 1 if no epoch is left.
///
/// `start()` begins an epoch, as `iter(loader)` does: it asks the shard for its
/// indices, once, and workers fetch the first batches. `step()` trains with the next
/// batch, of any size. It returns false if there is none left: the epoch is over.
void train(Shard& shard, const std::function<void()>& start,
           const std::function<bool()>& step, int64_t first, int64_t last) {
  // [solution-train]
  for (int64_t epoch = first; epoch <= last; ++epoch) {
    shard.set_epoch(epoch);
    start();
    while (step()) {
    }
  }
  return;
  // [/solution-train]
  lessons::not_written("train: who tells the shard which epoch it is, and when?");
}

/// Returns the share of samples that were classified correctly, from 0 to 1: over the
/// samples that all ranks have read, each of them counted once. It is the same number
/// on every rank.
///
/// `correct[k]` is 1 if the k-th of `shard.indices()` was classified correctly, else 0.
/// `sum(numbers)` replaces each of the numbers by its sum over all ranks. It is an
/// all-reduce: every rank must call it equally often, with equally many numbers.
double accuracy(const Shard& shard, const std::vector<int>& correct,
                const std::function<void(std::vector<double>&)>& sum) {
  // [solution-accuracy]
  std::vector<double> counts{0, 0};
  for (size_t k = 0; k < correct.size(); ++k) {
    const int64_t position =
        shard.share().rank + static_cast<int64_t>(k) * shard.share().world;
    if (position >= shard.share().length) continue;  // padding: read before
    counts[0] += correct[k];
    counts[1] += 1;
  }
  sum(counts);
  return counts[0] / counts[1];
  // [/solution-accuracy]
  lessons::not_written("accuracy: which of this rank's samples count?");
}

/// Given: the engine's loaders name the epoch whenever they ask.
class ShardSampler : public data::Sampler {
 public:
  explicit ShardSampler(const data::Share& share) : share_(share) {}
  int64_t size() const override { return Shard(share_).size(); }
  std::vector<int64_t> indices(int64_t epoch) const override {
    Shard shard(share_);
    shard.set_epoch(epoch);
    return shard.indices();
  }

 private:
  data::Share share_;
};

std::shared_ptr<const data::Sampler> make_sampler(const data::Share& share) {
  return std::make_shared<ShardSampler>(share);
}

// The tests find your code through these functions; do not change them.
extern "C" Shard* lesson_shard(const data::Share& share) { return new Shard(share); }
extern "C" void lesson_delete(Shard* shard) { delete shard; }
extern "C" void lesson_indices(const Shard& shard, std::vector<int64_t>& indices) {
  indices = shard.indices();
}
extern "C" void lesson_train(Shard& shard, const std::function<void()>& start,
                             const std::function<bool()>& step, int64_t first,
                             int64_t last) {
  train(shard, start, step, first, last);
}
extern "C" double lesson_accuracy(
    const Shard& shard, const std::vector<int>& correct,
    const std::function<void(std::vector<double>&)>& sum) {
  return accuracy(shard, correct, sum);
}

LOCKSTEP_LESSON(19) { data::rank_sampler().plug(make_sampler); }

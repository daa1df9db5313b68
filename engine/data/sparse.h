// A generated data set for logistic regression in which each sample touches few
// coordinates: the kind of problem that Hogwild's theorem is about.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/dataset.h"

namespace lockstep::data {

struct SparseShape {
  int64_t features = 1024;
  int64_t nonzeros = 8;  ///< of each sample; from 1 to `features`
};

/// Vectors with exactly `nonzeros` elements other than 0, at coordinates drawn
/// uniformly without replacement. Their values are ±sqrt(8 / nonzeros), so every vector
/// has the length sqrt(8), however sparse. A vector x has class 1 with the probability
/// 1 / (1 + exp(−w·x)), else 0; the weights w are normally distributed and depend only
/// on the seed. Samples are pure functions of seed and index, and are stored densely.
class SparseLogistic : public Dataset {
 public:
  /// The samples `first` to `first + length − 1` for `seed`. Throws std::runtime_error
  /// if `shape` is impossible.
  SparseLogistic(const SparseShape& shape, int64_t length, uint64_t seed,
                 int64_t first = 0);

  int64_t size() const override { return length_; }
  std::vector<int64_t> sample_shape() const override { return {shape_.features}; }
  int64_t classes() const override { return 2; }
  int64_t get(int64_t index, Draws& draws, std::span<float> vector) const override;

 private:
  const SparseShape shape_;
  const int64_t length_, first_;
  const Philox philox_;
  std::vector<double> weights_;  ///< w
};

}  // namespace lockstep::data

#include "engine/data/sparse.h"

#include <algorithm>
#include <cmath>

#include "engine/tensor/philox.h"

namespace lockstep::data {

SparseLogistic::SparseLogistic(const SparseShape& shape, int64_t length, uint64_t seed,
                               int64_t first)
    : shape_(shape), length_(length), first_(first), philox_{seed} {
  if (shape.nonzeros < 1 || shape.nonzeros > shape.features) {
    throw std::runtime_error(
        "a sparse sample needs from 1 to " + std::to_string(shape.features) +
        " non-zero elements, not " + std::to_string(shape.nonzeros));
  }
  const uint64_t stream = fnv1a64("sparse/weights");
  for (int64_t i = 0; i < shape.features; ++i) {
    weights_.push_back(philox_.normal(static_cast<uint64_t>(i), stream));
  }
}

/// Selection sampling (Knuth, volume 2, algorithm 3.4.2 S): every set of coordinates
/// has the same probability.
int64_t SparseLogistic::get(int64_t index, Draws& /*draws*/,
                            std::span<float> vector) const {
  const uint64_t stream =
      fnv1a64("sparse/sample") + static_cast<uint64_t>(first_ + index);
  const double size = std::sqrt(8.0 / static_cast<double>(shape_.nonzeros));
  uint64_t draw = 0;
  int64_t missing = shape_.nonzeros;
  double logit = 0;
  std::fill(vector.begin(), vector.end(), 0.0F);
  for (int64_t i = 0; missing > 0; ++i) {
    const auto left = static_cast<double>(shape_.features - i);
    if (philox_.uniform(draw++, stream) * left >= static_cast<double>(missing)) {
      continue;
    }
    --missing;
    const double value = philox_.uniform(draw++, stream) < 0.5 ? -size : size;
    vector[static_cast<size_t>(i)] = static_cast<float>(value);
    logit += weights_[static_cast<size_t>(i)] * value;
  }
  return philox_.uniform(draw, stream) < 1 / (1 + std::exp(-logit)) ? 1 : 0;
}

}  // namespace lockstep::data

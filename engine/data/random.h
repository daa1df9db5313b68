// The notebook's data set: torch.randn(length, features).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/data/dataset.h"

namespace lockstep::data {

/// `length` vectors of normally distributed values. The notebook's vectors have no
/// labels; here each has one of two random classes, so that a loss can be computed.
class RandomDataset : public Dataset {
 public:
  RandomDataset(int64_t length, int64_t features, uint64_t seed = 0)
      : length_(length), features_(features), philox_{seed} {}

  int64_t size() const override { return length_; }
  std::vector<int64_t> sample_shape() const override { return {features_}; }
  int64_t classes() const override { return 2; }

  int64_t get(int64_t index, Draws& /*draws*/, std::span<float> image) const override {
    static const uint64_t numbers = fnv1a64("random/images");
    static const uint64_t labels = fnv1a64("random/labels");
    for (int64_t i = 0; i < features_; ++i) {
      const double number = philox_.normal(index * features_ + i, numbers);
      image[i] = static_cast<float>(number);
    }
    return philox_.uniform(index, labels) < 0.5 ? 0 : 1;
  }

 private:
  int64_t length_, features_;
  Philox philox_;
};

}  // namespace lockstep::data

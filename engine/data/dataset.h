// A data set: samples by index. PyTorch's map-style `torch.utils.data.Dataset`.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "engine/tensor/philox.h"

namespace lockstep::data {

/// The random draws that belong to one sample in one epoch. They depend on nothing
/// else, so a sample is augmented in the same way whichever worker loads it, and
/// however many workers there are.
class Draws {
 public:
  Draws(uint64_t seed, int64_t epoch, int64_t index)
      : philox_{seed},
        stream_(fnv1a64("sample") + static_cast<uint64_t>(epoch)),
        position_(static_cast<uint64_t>(index) << 20) {}

  /// The next draw, uniform in (0, 1).
  double uniform() { return philox_.uniform(position_++, stream_); }

  /// The next draw, uniform in 0 … bound - 1.
  int64_t integer(int64_t bound) { return static_cast<int64_t>(uniform() * bound); }

 private:
  Philox philox_;
  uint64_t stream_;
  uint64_t position_;
};

/// A sample that cannot be had, such as a file that is damaged or gone. A run may be
/// told to go on without it.
struct BadSample : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// All samples have one shape. Const calls are thread-safe: the loader's workers share
/// one data set.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;
  virtual std::vector<int64_t> sample_shape() const = 0;  ///< C,H,W or F
  virtual int64_t classes() const = 0;

  /// Writes sample `index` into `image` (as many numbers as `sample_shape` says) and
  /// returns its label. What is random in an augmentation comes from `draws`.
  /// Throws BadSample if there is no such picture any more.
  /// REQUIRES: 0 ≤ index < size().
  virtual int64_t get(int64_t index, Draws& draws, std::span<float> image) const = 0;

  /// What sample `index` is called in messages: a file's path, if it has one.
  virtual std::string describe(int64_t index) const {
    return "sample " + std::to_string(index);
  }
};

}  // namespace lockstep::data

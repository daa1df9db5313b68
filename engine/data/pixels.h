// Images as bytes, and the values that a model gets for them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/data/dataset.h"

namespace lockstep::data {

/// The mean and standard deviation of each channel, whose values are from 0 to 1.
struct Normalization {
  std::array<float, 3> mean, std;
};

/// ToTensor and Normalize: (byte / 255 - mean) / std, in float32 as torchvision
/// computes it. Each channel uses a table of 256 values.
class Normalize {
 public:
  explicit Normalize(const Normalization& constants);

  float operator()(int channel, uint8_t byte) const { return table_[channel][byte]; }

  /// Normalises three planes. REQUIRES: both spans have the same size.
  void operator()(std::span<const uint8_t> planes, std::span<float> image) const;

  const Normalization& constants() const { return constants_; }

 private:
  Normalization constants_;
  std::array<std::array<float, 256>, 3> table_;
};

/// Returns the usual constants for CIFAR-10's training set.
const Normalize& cifar10_normalize();

/// Returns ImageNet's constants, which all torchvision models expect.
const Normalize& imagenet_normalize();

/// A data set of images, which are bytes until they are normalised. A loader may leave
/// that to the devices.
class ImageDataset : public Dataset {
 public:
  /// Like `get`, but writes the bytes of three planes, before they are normalised.
  virtual int64_t get_bytes(int64_t index, Draws& draws,
                            std::span<uint8_t> planes) const = 0;
  /// Returns what turns those bytes into a model's input.
  virtual const Normalize& normalize() const = 0;

  /// Normalises the bytes of `get_bytes`.
  int64_t get(int64_t index, Draws& draws, std::span<float> image) const override;
};

}  // namespace lockstep::data

// Transforms that turn the bytes of an image into a model's input.
//
// As in torchvision's recipe for CIFAR-10:
//   RandomCrop(32, padding=4), RandomHorizontalFlip(), ToTensor(), Normalize(mean, std)
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "engine/data/dataset.h"
#include "engine/data/picture.h"

namespace lockstep::data {

/// The size of three planes of bytes (R, G, B), each with `height` rows of `width`.
struct ImageSize {
  int64_t height, width;
  int64_t pixels() const { return height * width; }
};

/// The random choices for one image.
struct Augmentation {
  int64_t top = 0, left = 0;  ///< the crop's corner in the padded image
  bool flip = false;          ///< mirror horizontally

  /// Returns no augmentation: a crop centred in the padded image.
  static Augmentation none(int64_t padding) { return {padding, padding, false}; }

  /// Draws top, left (each 0 … 2·padding) and flip (probability ½), in this order.
  static Augmentation draw(int64_t padding, Draws& draws);
};

/// ToTensor and Normalize: (byte / 255 - mean) / std, in float32 as torchvision
/// computes it. Each channel uses a table of 256 values.
class Normalize {
 public:
  Normalize(std::array<float, 3> mean, std::array<float, 3> std);

  float operator()(int channel, uint8_t byte) const { return table_[channel][byte]; }

 private:
  std::array<std::array<float, 256>, 3> table_;
};

/// Returns the usual constants for CIFAR-10's training set.
const Normalize& cifar10_normalize();

/// Returns ImageNet's constants, which all torchvision models expect.
const Normalize& imagenet_normalize();

/// Normalises an image into three planes, mirrored if `flip`. REQUIRES: image has 3 ·
/// width · height elements.
void normalize(const Picture& picture, bool flip, const Normalize& normalize,
               std::span<float> image);

/// Pads `bytes` with `padding` black pixels on each side, crops to the original size at
/// (top, left), flips if requested, and normalises. Padding is added *before*
/// normalisation, as in torchvision: it becomes -mean / std, not zero. REQUIRES: both
/// spans have 3 · size.pixels() elements; 0 ≤ top, left ≤ 2 · padding.
void transform(std::span<const uint8_t> bytes, ImageSize size, int64_t padding,
               const Augmentation& augmentation, const Normalize& normalize,
               std::span<float> image);

}  // namespace lockstep::data

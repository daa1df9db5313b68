// Transforms of an image's bytes; pixels.h normalises them.
//
// As in torchvision's recipe for CIFAR-10:
//   RandomCrop(32, padding=4), RandomHorizontalFlip(), ToTensor(), Normalize(mean, std)
#pragma once

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

/// Writes value(channel, byte) of each pixel as three planes, mirrored if `flip`.
/// REQUIRES: planes has 3 · width · height elements.
template <typename T, typename Value>
void to_planes(const Picture& picture, bool flip, const Value& value,
               std::span<T> planes) {
  const int64_t step = flip ? -Picture::kPixel : Picture::kPixel;
  const int64_t first = flip ? (picture.width - 1) * Picture::kPixel : 0;
  T* out = planes.data();
  for (int channel = 0; channel < 3; ++channel) {
    for (int64_t y = 0; y < picture.height; ++y) {
      const uint8_t* in = picture.row(y) + first + channel;
      for (int64_t x = 0; x < picture.width; ++x, in += step) {
        *out++ = value(channel, *in);
      }
    }
  }
}

/// Pads `bytes` with `padding` black pixels on each side, crops to the original size at
/// (top, left), and flips if requested. Padding is added *before* normalisation, as in
/// torchvision: it becomes -mean / std, not zero. REQUIRES: both spans have 3 ·
/// size.pixels() elements; 0 ≤ top, left ≤ 2 · padding.
void crop_and_flip(std::span<const uint8_t> bytes, ImageSize size, int64_t padding,
                   const Augmentation& augmentation, std::span<uint8_t> planes);

}  // namespace lockstep::data

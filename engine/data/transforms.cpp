#include "engine/data/transforms.h"

namespace lockstep::data {

Augmentation Augmentation::draw(int64_t padding, Draws& draws) {
  Augmentation drawn;
  drawn.top = draws.integer(2 * padding + 1);
  drawn.left = draws.integer(2 * padding + 1);
  drawn.flip = draws.uniform() < 0.5;
  return drawn;
}

void crop_and_flip(std::span<const uint8_t> bytes, ImageSize size, int64_t padding,
                   const Augmentation& augmentation, std::span<uint8_t> planes) {
  const auto [height, width] = size;
  uint8_t* out = planes.data();
  for (int channel = 0; channel < 3; ++channel) {
    const uint8_t* plane = bytes.data() + channel * size.pixels();
    for (int64_t row = 0; row < height; ++row) {
      const int64_t y = row + augmentation.top - padding;
      for (int64_t column = 0; column < width; ++column) {
        const int64_t across = augmentation.flip ? width - 1 - column : column;
        const int64_t x = across + augmentation.left - padding;
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        *out++ = inside ? plane[y * width + x] : 0;
      }
    }
  }
}

}  // namespace lockstep::data

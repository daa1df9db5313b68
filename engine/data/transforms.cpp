#include "engine/data/transforms.h"

namespace lockstep::data {

Augmentation Augmentation::draw(int64_t padding, Draws& draws) {
  Augmentation drawn;
  drawn.top = draws.integer(2 * padding + 1);
  drawn.left = draws.integer(2 * padding + 1);
  drawn.flip = draws.uniform() < 0.5;
  return drawn;
}

void transform(std::span<const uint8_t> bytes, ImageSize size, int64_t padding,
               const Augmentation& augmentation, const Normalize& normalize,
               std::span<float> image) {
  const auto [height, width] = size;
  float* out = image.data();
  for (int channel = 0; channel < 3; ++channel) {
    const uint8_t* plane = bytes.data() + channel * size.pixels();
    for (int64_t row = 0; row < height; ++row) {
      const int64_t y = row + augmentation.top - padding;
      for (int64_t column = 0; column < width; ++column) {
        const int64_t across = augmentation.flip ? width - 1 - column : column;
        const int64_t x = across + augmentation.left - padding;
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        *out++ = normalize(channel, inside ? plane[y * width + x] : 0);
      }
    }
  }
}

void normalize(const Picture& picture, bool flip, const Normalize& normalize,
               std::span<float> image) {
  const int64_t step = flip ? -Picture::kPixel : Picture::kPixel;
  const int64_t first = flip ? (picture.width - 1) * Picture::kPixel : 0;
  float* out = image.data();
  for (int channel = 0; channel < 3; ++channel) {
    for (int64_t y = 0; y < picture.height; ++y) {
      const uint8_t* in = picture.row(y) + first + channel;
      for (int64_t x = 0; x < picture.width; ++x, in += step) {
        *out++ = normalize(channel, *in);
      }
    }
  }
}

Normalize::Normalize(std::array<float, 3> mean, std::array<float, 3> std) {
  for (int channel = 0; channel < 3; ++channel) {
    for (int byte = 0; byte < 256; ++byte) {
      const float scaled = static_cast<float>(byte) / 255.0f;
      table_[channel][byte] = (scaled - mean[channel]) / std[channel];
    }
  }
}

const Normalize& cifar10_normalize() {
  static const Normalize normalize({0.4914f, 0.4822f, 0.4465f},
                                   {0.2470f, 0.2435f, 0.2616f});
  return normalize;
}

const Normalize& imagenet_normalize() {
  static const Normalize normalize({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f});
  return normalize;
}

}  // namespace lockstep::data

#include "engine/data/pixels.h"

#include <vector>

namespace lockstep::data {

int64_t ImageDataset::get(int64_t index, Draws& draws, std::span<float> image) const {
  thread_local std::vector<uint8_t> planes;
  planes.resize(image.size());
  const int64_t label = get_bytes(index, draws, planes);
  normalize()(planes, image);
  return label;
}

Normalize::Normalize(const Normalization& constants) : constants_(constants) {
  for (int channel = 0; channel < 3; ++channel) {
    for (int byte = 0; byte < 256; ++byte) {
      const float scaled = static_cast<float>(byte) / 255.0f;
      table_[channel][byte] =
          (scaled - constants.mean[channel]) / constants.std[channel];
    }
  }
}

void Normalize::operator()(std::span<const uint8_t> planes,
                           std::span<float> image) const {
  const size_t pixels = planes.size() / 3;
  for (size_t channel = 0; channel < 3; ++channel) {
    const std::array<float, 256>& values = table_[channel];
    for (size_t i = channel * pixels; i < (channel + 1) * pixels; ++i) {
      image[i] = values[planes[i]];
    }
  }
}

const Normalize& cifar10_normalize() {
  static const Normalize normalize(
      {{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}});
  return normalize;
}

const Normalize& imagenet_normalize() {
  static const Normalize normalize(
      {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}});
  return normalize;
}

}  // namespace lockstep::data

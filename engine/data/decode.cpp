#include "engine/data/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace lockstep::data {
namespace {

constexpr std::array<uint8_t, 2> kJpeg{0xFF, 0xD8};
constexpr std::array<uint8_t, 8> kPng{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

template <size_t N>
bool begins_with(std::span<const uint8_t> bytes, const std::array<uint8_t, N>& magic) {
  return bytes.size() >= N && std::equal(magic.begin(), magic.end(), bytes.begin());
}

}  // namespace

void decode(std::span<const uint8_t> bytes, const ChooseBox& choose, Picture& picture,
            int64_t most_pixels) {
  if (begins_with(bytes, kJpeg)) {
    return decode_jpeg(bytes, choose, picture, most_pixels);
  }
  if (begins_with(bytes, kPng)) {
    return decode_png(bytes, choose, picture, most_pixels);
  }
  throw std::runtime_error(bytes.empty() ? "the file is empty"
                                         : "not a JPEG or PNG file");
}

Picture decode(std::span<const uint8_t> bytes) {
  Picture picture;
  decode(
      bytes, [](PictureSize size) { return Box{0, 0, size.width, size.height}; },
      picture);
  return picture;
}

Box checked_box(PictureSize size, const ChooseBox& choose, int64_t most_pixels) {
  const auto [width, height] = size;
  if (width < 1 || height < 1 || width > most_pixels / height) {
    throw std::runtime_error(fmt::format("{} x {} pixels exceed the limit of {}", width,
                                         height, most_pixels));
  }
  const Box box = choose(size);
  const bool inside = box.left >= 0 && box.top >= 0 && box.width > 0 &&
                      box.height > 0 && box.left + box.width <= width &&
                      box.top + box.height <= height;
  if (!inside) throw std::logic_error("the crop exceeds the image");
  return box;
}

}  // namespace lockstep::data

// A decoded image.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::data {

/// Rows of pixels of 4 bytes each: red, green, blue and a filler, so that a pixel is
/// one load.
struct Picture {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgbx;  ///< height · width · 4 bytes

  static constexpr int64_t kPixel = 4;

  /// Discards the contents but keeps the memory.
  void resize(int64_t new_width, int64_t new_height) {
    width = new_width;
    height = new_height;
    rgbx.resize(width * height * kPixel);
  }
  uint8_t* row(int64_t y) { return rgbx.data() + y * width * kPixel; }
  const uint8_t* row(int64_t y) const { return rgbx.data() + y * width * kPixel; }
};

/// A part of an image, in pixels.
struct Box {
  int64_t left = 0, top = 0, width = 0, height = 0;
  bool operator==(const Box&) const = default;
};

}  // namespace lockstep::data

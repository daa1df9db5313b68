// Pictures, and how they are read from and written to image files: JPEG by
// libjpeg-turbo, PNG by libpng.
//
// Pixels are identical to those of PIL's `Image.open(file).convert("RGB")`, which
// torchvision's ImageFolder calls: grey becomes three equal channels, CMYK is read as
// Adobe writes it (inverted), an alpha channel is dropped, and EXIF orientation is
// ignored. (One difference: 16-bit grey PNGs keep the high byte; PIL clips at 255.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace lockstep::data {

/// A decoded image: rows of pixels of 4 bytes each: red, green, blue and a filler, so
/// that a pixel is one load.
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

/// PIL's limit: without one, a file of a few bytes could claim gigabytes of pixels.
inline constexpr int64_t kMostPixels = 178'956'970;

struct PictureSize {
  int64_t width, height;
};

/// Returns the part of an image of that size to decode.
using ChooseBox = std::function<Box(PictureSize)>;

/// Decodes the box returned by `choose` into `picture`. Pixels outside it are skipped
/// where the format allows, but the result is identical to a crop of the whole image.
/// The format is detected from the first bytes, never from the name: ImageNet contains
/// a PNG named .JPEG.
/// Throws std::runtime_error (without the file name) for other formats, for input that
/// the library rejects, and for truncated files. As in PIL, damage that the library can
/// skip is not an error. Thread-safe.
void decode(std::span<const uint8_t> bytes, const ChooseBox& choose, Picture& picture,
            int64_t most_pixels = kMostPixels);

/// Decodes the whole image.
Picture decode(std::span<const uint8_t> bytes);

/// Decode one format each (decode_jpeg.cpp, decode_png.cpp), with the same contract.
void decode_jpeg(std::span<const uint8_t> bytes, const ChooseBox& choose,
                 Picture& picture, int64_t most_pixels);
void decode_png(std::span<const uint8_t> bytes, const ChooseBox& choose,
                Picture& picture, int64_t most_pixels);

/// Returns the chosen box. Throws std::runtime_error if the image's size is not
/// allowed.
Box checked_box(PictureSize size, const ChooseBox& choose, int64_t most_pixels);

/// Encodes `picture` as a baseline JPEG with a quality of 1 to 100. Throws
/// std::runtime_error if it has no pixels or a side of more than 65,500 pixels.
std::vector<std::byte> encode_jpeg(const Picture& picture, int quality = 90);

}  // namespace lockstep::data

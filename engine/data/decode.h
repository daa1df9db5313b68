// Decodes image files: JPEG by libjpeg-turbo, PNG by libpng.
//
// Pixels are identical to those of PIL's `Image.open(file).convert("RGB")`, which
// torchvision's ImageFolder calls: grey becomes three equal channels, CMYK is read as
// Adobe writes it (inverted), an alpha channel is dropped, and EXIF orientation is
// ignored. (One difference: 16-bit grey PNGs keep the high byte; PIL clips at 255.)
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/data/picture.h"

namespace lockstep::data {

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

/// Returns the chosen box. Throws std::runtime_error if the file's size is not allowed.
Box checked_box(PictureSize size, const ChooseBox& choose, int64_t most_pixels);

}  // namespace lockstep::data

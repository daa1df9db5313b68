// From a file's bytes to a picture: JPEG by libjpeg-turbo, PNG by libpng.
//
// Pixels are those of PIL's `Image.open(file).convert("RGB")`, which torchvision's
// ImageFolder calls: grey becomes three equal colours, CMYK is taken as Adobe writes it
// (inverted), an alpha channel is dropped, EXIF's orientation is left alone. (One
// difference: of 16-bit grey PNGs the high byte counts; PIL cuts at 255.)
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/data/picture.h"

namespace lockstep::data {

/// PIL refuses larger pictures, too: some bytes can claim gigabytes.
inline constexpr int64_t kMostPixels = 178'956'970;

struct PictureSize {
  int64_t width, height;
};

/// Says which part of a picture of that size is wanted.
using ChooseBox = std::function<Box(PictureSize)>;

/// Decodes the box that `choose` names, into `picture`. What lies outside it is not
/// computed where the format allows it, but the pixels are those of the whole picture.
/// The kind of file is told by its first bytes, never by its name: ImageNet has a PNG
/// named .JPEG.
/// Throws std::runtime_error, without a file's name, for bytes that are neither, for
/// what the library refuses, and for files that end too early. As in PIL, damage
/// inside the data that the library can step over is no error. Thread-safe.
void decode(std::span<const uint8_t> bytes, const ChooseBox& choose, Picture& picture,
            int64_t most_pixels = kMostPixels);

/// The whole picture.
Picture decode(std::span<const uint8_t> bytes);

/// The two formats (decode_jpeg.cpp, decode_png.cpp). Same contract.
void decode_jpeg(std::span<const uint8_t> bytes, const ChooseBox& choose,
                 Picture& picture, int64_t most_pixels);
void decode_png(std::span<const uint8_t> bytes, const ChooseBox& choose,
                Picture& picture, int64_t most_pixels);

/// What both do with the size that a file claims. Throws std::runtime_error.
Box checked_box(PictureSize size, const ChooseBox& choose, int64_t most_pixels);

}  // namespace lockstep::data

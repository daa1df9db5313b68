#include "gui/render/image.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <stdexcept>

#include "base/file.h"
#include "tracer/format/file_io.h"

namespace lockstep::gui {

namespace {

// For flat panels and text, differences from the row above compress well and quickly.
constexpr int kFilter = PNG_FILTER_UP;
constexpr int kCompression = 6;
constexpr int kMaxSide = 1 << 15;

bool is_opaque(const Image& image) {
  return std::all_of(image.pixels.begin(), image.pixels.end(),
                     [](uint32_t pixel) { return pixel >> 24 == 255; });
}

/// Returns red, green, blue and optionally alpha bytes, in this order on any machine.
std::vector<uint8_t> packed_bytes(const Image& image, int channels) {
  std::vector<uint8_t> bytes;
  bytes.reserve(image.pixels.size() * static_cast<size_t>(channels));
  for (const uint32_t pixel : image.pixels) {
    for (int i = 0; i < channels; ++i) {
      bytes.push_back(static_cast<uint8_t>(pixel >> (8 * i)));
    }
  }
  return bytes;
}

void append(png_structp png, png_bytep bytes, size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))
      ->append(reinterpret_cast<const char*>(bytes), size);
}

/// Returns false on error. libpng reports errors by longjmp, which skips destructors,
/// so this function has no local objects with a destructor.
bool encode(png_structp png, png_infop info, const Image& image, uint8_t* bytes,
            int channels, std::string* out) {
  if (setjmp(png_jmpbuf(png))) return false;
  const auto width = static_cast<png_uint_32>(image.width);
  const auto height = static_cast<png_uint_32>(image.height);
  png_set_write_fn(png, out, append, nullptr);
  png_set_compression_level(png, kCompression);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, kFilter);
  png_set_IHDR(png, info, width, height, 8,
               channels == 4 ? PNG_COLOR_TYPE_RGBA : PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const size_t stride = size_t{width} * static_cast<size_t>(channels);
  for (size_t y = 0; y < height; ++y) png_write_row(png, bytes + y * stride);
  png_write_end(png, nullptr);
  return true;
}

void check_size(const Image& image) {
  const bool fits = image.width > 0 && image.height > 0 && image.width <= kMaxSide &&
                    image.height <= kMaxSide;
  const size_t count =
      fits ? static_cast<size_t>(image.width) * static_cast<size_t>(image.height) : 0;
  if (!fits || image.pixels.size() != count) {
    throw std::runtime_error(
        fmt::format("an image of {} x {} with {} pixels cannot be written as PNG: each "
                    "side must be 1 to {}, and the pixel count their product",
                    image.width, image.height, image.pixels.size(), kMaxSide));
  }
}

}  // namespace

std::string encode_png(const Image& image) {
  check_size(image);
  const int channels = is_opaque(image) ? 3 : 4;
  std::vector<uint8_t> bytes = packed_bytes(image, channels);
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr,
                                            [](png_structp, png_const_charp) {});
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  const bool good = info && encode(png, info, image, bytes.data(), channels, &out);
  png_destroy_write_struct(&png, &info);
  if (!good)
    throw std::runtime_error("an image cannot be encoded as PNG: out of memory");
  return out;
}

Image decode_png(std::string_view bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  Image image;
  bool good = png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()) != 0;
  if (good && png.width <= kMaxSide && png.height <= kMaxSide) {
    png.format = PNG_FORMAT_RGBA;
    std::vector<uint8_t> raw(PNG_IMAGE_SIZE(png));
    good = png_image_finish_read(&png, nullptr, raw.data(), 0, nullptr) != 0;
    image.width = static_cast<int>(png.width);
    image.height = static_cast<int>(png.height);
    for (size_t i = 0; i < raw.size(); i += 4) {
      image.pixels.push_back(raw[i] | uint32_t{raw[i + 1]} << 8 |
                             uint32_t{raw[i + 2]} << 16 | uint32_t{raw[i + 3]} << 24);
    }
  }
  const std::string reason = png.message;
  png_image_free(&png);
  if (!good || image.pixels.empty()) {
    throw std::runtime_error(
        fmt::format("not a readable PNG ({})", reason.empty() ? "size" : reason));
  }
  return image;
}

void write_png(const Image& image, const std::string& path) {
  const std::string bytes = encode_png(image);
  AtomicFile file(path, AtomicFile::Packing::none, AtomicFile::Durability::renamed);
  file.write(bytes);
  file.commit();
}

Image read_png(const std::string& path) {
  const std::string bytes = tracer::read_whole_file(path);
  try {
    return decode_png(bytes);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace lockstep::gui

// Configures libpng to return 8-bit colour for every kind of file.
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/data/picture.h"

namespace lockstep::data {
namespace {

/// libpng reports errors through a function that must not return: see decode_jpeg.cpp.
class PngDecoder {
 public:
  explicit PngDecoder(std::span<const uint8_t> bytes) : rest_(bytes) {
    png = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, this,
        [](png_structp p, png_const_charp message) {
          auto* self = static_cast<PngDecoder*>(png_get_error_ptr(p));
          std::strncpy(self->message_, message, sizeof self->message_ - 1);
          std::longjmp(self->back_, 1);
        },
        [](png_structp, png_const_charp) {});
    if (png) info = png_create_info_struct(png);
    if (!info) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw std::runtime_error("libpng ran out of memory");
    }
    png_set_read_fn(png, this, [](png_structp p, png_bytep to, size_t count) {
      auto* self = static_cast<PngDecoder*>(png_get_io_ptr(p));
      if (count > self->rest_.size()) png_error(p, "the file is truncated");
      std::memcpy(to, self->rest_.data(), count);
      self->rest_ = self->rest_.subspan(count);
    });
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
  }
  ~PngDecoder() { png_destroy_read_struct(&png, &info, nullptr); }
  PngDecoder(const PngDecoder&) = delete;

  /// Runs libpng calls. `calls` must not create objects with destructors.
  template <typename Calls>
  void guarded(Calls&& calls) {
    if (setjmp(back_)) throw std::runtime_error(message_);
    calls();
  }

  png_structp png = nullptr;
  png_infop info = nullptr;

 private:
  std::span<const uint8_t> rest_;
  std::jmp_buf back_;
  char message_[128]{};
};

/// Converts every kind of PNG to red, green, blue and a filler byte.
int ask_for_rgbx(png_structp png, png_infop info) {
  png_set_expand(png);    // palettes, and 1-, 2- or 4-bit grey
  png_set_strip_16(png);  // keep the high byte of 16-bit samples
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  png_set_filler(png, 0xFF, PNG_FILLER_AFTER);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return passes;
}

}  // namespace

void decode_png(std::span<const uint8_t> bytes, const ChooseBox& choose,
                Picture& picture, int64_t most_pixels) {
  PngDecoder decoder(bytes);
  const png_structp png = decoder.png;
  decoder.guarded([&] { png_read_info(png, decoder.info); });
  const PictureSize size{png_get_image_width(png, decoder.info),
                         png_get_image_height(png, decoder.info)};
  const Box box = checked_box(size, choose, most_pixels);

  int passes = 0;
  decoder.guarded([&] { passes = ask_for_rgbx(png, decoder.info); });
  Picture whole;
  whole.resize(size.width, size.height);
  decoder.guarded([&] {
    for (int pass = 0; pass < passes; ++pass) {
      for (int64_t y = 0; y < size.height; ++y) {
        png_read_row(png, whole.row(y), nullptr);
      }
    }
  });
  picture.resize(box.width, box.height);
  for (int64_t y = 0; y < box.height; ++y) {
    std::memcpy(picture.row(y), whole.row(box.top + y) + box.left * Picture::kPixel,
                box.width * Picture::kPixel);
  }
}

}  // namespace lockstep::data

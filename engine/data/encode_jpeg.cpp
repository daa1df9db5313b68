#include "engine/data/picture.h"

#include <fmt/format.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

extern "C" {
#include <jpeglib.h>
}

namespace lockstep::data {
namespace {

/// As in decode_jpeg.cpp: errors jump back, since exceptions must not pass through C.
struct Errors {
  jpeg_error_mgr base;
  std::jmp_buf back;
};

/// Owns libjpeg's allocations.
struct Encoder {
  jpeg_compress_struct jpeg{};
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  ~Encoder() {
    jpeg_destroy_compress(&jpeg);
    std::free(bytes);
  }
};

void compress(jpeg_compress_struct& jpeg, const Picture& picture, int quality) {
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = Picture::kPixel;
  jpeg.in_color_space = JCS_EXT_RGBX;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPROW>(picture.row(jpeg.next_scanline));
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
}

}  // namespace

std::vector<std::byte> encode_jpeg(const Picture& picture, int quality) {
  if (picture.width < 1 || picture.height < 1 || picture.width > JPEG_MAX_DIMENSION ||
      picture.height > JPEG_MAX_DIMENSION) {
    throw std::runtime_error(fmt::format("JPEG does not support {} x {} pixels",
                                         picture.width, picture.height));
  }
  Encoder encoder;
  Errors errors{};
  encoder.jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = [](j_common_ptr any) {
    std::longjmp(reinterpret_cast<Errors*>(any->err)->back, 1);
  };
  if (setjmp(errors.back)) throw std::runtime_error("cannot encode a JPEG");
  jpeg_create_compress(&encoder.jpeg);
  jpeg_mem_dest(&encoder.jpeg, &encoder.bytes, &encoder.size);
  compress(encoder.jpeg, picture, quality);
  const auto* begin = reinterpret_cast<const std::byte*>(encoder.bytes);
  return {begin, begin + encoder.size};
}

}  // namespace lockstep::data

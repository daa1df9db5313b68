// Restricts libjpeg-turbo to the requested box: skips the rows above it, does not
// transform the columns outside it, and stops after its last row.
#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "engine/data/picture.h"

extern "C" {
#include <jpeglib.h>
}

namespace lockstep::data {
namespace {

/// Limits the work: a few kilobytes can hold thousands of scans of a huge image.
constexpr int kMostScans = 500;

/// libjpeg reports errors through a function that must not return, and exceptions must
/// not pass through C, so it jumps back to `guarded`, which throws.
class JpegDecoder {
 public:
  explicit JpegDecoder(std::span<const uint8_t> bytes) {
    jpeg.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = [](j_common_ptr any) {
      auto* errors = reinterpret_cast<Errors*>(any->err);
      (*any->err->format_message)(any, errors->message);
      std::longjmp(errors->back, 1);
    };
    errors_.base.emit_message = [](j_common_ptr, int) {
    };  // ignore warnings, as PIL does
    guarded([&] {
      jpeg_create_decompress(&jpeg);
      jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
    });
    jpeg.src->fill_input_buffer = [](j_decompress_ptr j) -> boolean {
      fail(j, "the file is truncated");
    };
    progress_.progress_monitor = [](j_common_ptr any) {
      auto* j = reinterpret_cast<j_decompress_ptr>(any);
      if (j->input_scan_number > kMostScans) fail(j, "the file has too many scans");
    };
    jpeg.progress = &progress_;
  }
  ~JpegDecoder() { jpeg_destroy_decompress(&jpeg); }
  JpegDecoder(const JpegDecoder&) = delete;

  /// Runs libjpeg calls. `calls` must not create objects with destructors.
  template <typename Calls>
  void guarded(Calls&& calls) {
    if (setjmp(errors_.back)) throw std::runtime_error(errors_.message);
    calls();
  }

  jpeg_decompress_struct jpeg{};

 private:
  struct Errors {
    jpeg_error_mgr base;
    std::jmp_buf back;
    char message[JMSG_LENGTH_MAX];
  };
  [[noreturn]] static void fail(j_decompress_ptr jpeg, const char* why) {
    auto* errors = reinterpret_cast<Errors*>(jpeg->err);
    std::snprintf(errors->message, sizeof errors->message, "%s", why);
    std::longjmp(errors->back, 1);
  }

  Errors errors_{};
  jpeg_progress_mgr progress_{};
};

/// Returns a · b / 255, rounded.
int scaled(int a, int b) {
  const int product = a * b + 128;
  return (product + (product >> 8)) >> 8;
}

/// As in PIL, inks are stored inverted, and black darkens the other three.
void cmyk_to_rgb(uint8_t* row, int64_t pixels) {
  for (uint8_t* pixel = row; pixel < row + 4 * pixels; pixel += 4) {
    const int light = pixel[3];
    for (int ink = 0; ink < 3; ++ink) {
      pixel[ink] = static_cast<uint8_t>(light - scaled(255 - pixel[ink], light));
    }
  }
}

/// Returns true if the unread data contains an end-of-image marker: the file is then
/// complete, and the rest need not be decoded.
bool has_end(const jpeg_source_mgr& source) {
  const JOCTET* at = source.next_input_byte;
  const JOCTET* const end = at + source.bytes_in_buffer;
  while (at + 1 < end) {
    at = static_cast<const JOCTET*>(std::memchr(at, 0xFF, end - at - 1));
    if (at == nullptr) return false;
    if (*++at == 0xD9) return true;
  }
  return false;
}

/// Reads the rest of the file. libjpeg does not read skipped rows at the bottom, so the
/// last one is read explicitly.
void read_to_the_end(jpeg_decompress_struct& jpeg, uint8_t* row) {
  const JDIMENSION rest = jpeg.output_height - jpeg.output_scanline;
  if (rest > 1) jpeg_skip_scanlines(&jpeg, rest - 1);
  if (rest > 0) jpeg_read_scanlines(&jpeg, &row, 1);
}

void read_rows(jpeg_decompress_struct& jpeg, const Box& box, int64_t first_column,
               uint8_t* row, Picture& picture) {
  const auto stop = static_cast<JDIMENSION>(box.top + box.height);
  while (jpeg.output_scanline < stop) {
    const int64_t y = static_cast<int64_t>(jpeg.output_scanline) - box.top;
    jpeg_read_scanlines(&jpeg, &row, 1);
    if (y < 0) continue;
    std::memcpy(picture.row(y), row + (box.left - first_column) * Picture::kPixel,
                box.width * Picture::kPixel);
  }
}

}  // namespace

void decode_jpeg(std::span<const uint8_t> bytes, const ChooseBox& choose,
                 Picture& picture, int64_t most_pixels) {
  JpegDecoder decoder(bytes);
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  decoder.guarded([&] { jpeg_read_header(&jpeg, TRUE); });
  const bool cmyk = jpeg.num_components == 4;
  jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_EXT_RGBX;
  const Box box =
      checked_box({jpeg.image_width, jpeg.image_height}, choose, most_pixels);
  picture.resize(box.width, box.height);

  decoder.guarded([&] { jpeg_start_decompress(&jpeg); });
  // Colour is smoothed across block borders ("fancy upsampling"): with one more block
  // on each side, the box equals a crop of the whole image.
  const int64_t block_width = int64_t{DCTSIZE} * jpeg.max_h_samp_factor;
  const int64_t block_height = int64_t{DCTSIZE} * jpeg.max_v_samp_factor;
  auto left = static_cast<JDIMENSION>(std::max<int64_t>(0, box.left - block_width));
  const int64_t right =
      std::min<int64_t>(jpeg.output_width, box.left + box.width + block_width);
  auto width = static_cast<JDIMENSION>(right - left);
  const int64_t skipped = std::max<int64_t>(0, box.top - 2 * block_height);

  std::vector<uint8_t> row(jpeg.output_width * Picture::kPixel);
  decoder.guarded([&] {
    if (width < jpeg.output_width) jpeg_crop_scanline(&jpeg, &left, &width);
    if (skipped > 0) jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(skipped));
    read_rows(jpeg, box, left, row.data(), picture);
    if (!jpeg_has_multiple_scans(&jpeg) && !has_end(*jpeg.src)) {
      read_to_the_end(jpeg, row.data());  // throws if the file is truncated
    }
  });
  if (cmyk) cmyk_to_rgb(picture.rgbx.data(), box.width * box.height);
}

}  // namespace lockstep::data

// A picture in memory, and as a PNG file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::gui {

/// Pixels row by row from the top left, 0xAABBGGRR as ImGui packs colours (in memory:
/// red, green, blue, alpha), alpha not multiplied in.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint32_t> pixels;  ///< width * height of them
};

/// The picture as a PNG file: equal pictures give equal bytes, and there is no time in
/// it. Throws std::runtime_error for a picture without pixels. Thread-safe.
std::string encode_png(const Image& image);

/// The picture in a PNG file's bytes. Throws std::runtime_error when they are none.
Image decode_png(std::string_view bytes);

/// Writes a PNG file that appears when it is complete. Throws std::runtime_error
/// naming the file and the fix (missing folder, full disk).
void write_png(const Image& image, const std::string& path);

/// Reads one. Throws std::runtime_error naming the file.
Image read_png(const std::string& path);

}  // namespace lockstep::gui

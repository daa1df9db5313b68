// Images in memory, and reading and writing them as PNG files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::gui {

/// Pixels row by row from the top left, as 0xAABBGGRR like ImGui's colours (in memory:
/// red, green, blue, alpha), with straight alpha.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint32_t> pixels;  ///< width * height elements
};

/// Returns the image as a PNG file, without a timestamp: equal images give equal bytes.
/// Throws std::runtime_error if the size is invalid or encoding fails. Thread-safe.
std::string encode_png(const Image& image);

/// Decodes the contents of a PNG file. Throws std::runtime_error if `bytes` is not a
/// valid PNG file.
Image decode_png(std::string_view bytes);

/// Writes a PNG file atomically. Throws std::runtime_error naming the file and a fix if
/// writing fails (missing folder, full disk).
void write_png(const Image& image, const std::string& path);

/// Reads a PNG file. Throws std::runtime_error naming the file if reading fails.
Image read_png(const std::string& path);

}  // namespace lockstep::gui

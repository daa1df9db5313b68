// An image in memory, and as a PNG file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::gui {

/// Pixels row by row from the top left, 0xAABBGGRR as ImGui packs colours (in memory:
/// red, green, blue, alpha), with straight alpha.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint32_t> pixels;  ///< width * height of them
};

/// Returns the image as a PNG file: equal images give equal bytes, without a timestamp.
/// Throws std::runtime_error for an image without pixels. Thread-safe.
std::string encode_png(const Image& image);

/// Returns the image in a PNG file's bytes. Throws std::runtime_error if they are not a
/// PNG.
Image decode_png(std::string_view bytes);

/// Writes a PNG file atomically. Throws std::runtime_error naming the file and the fix
/// (missing folder, full disk).
void write_png(const Image& image, const std::string& path);

/// Reads a PNG file. Throws std::runtime_error that names the file.
Image read_png(const std::string& path);

}  // namespace lockstep::gui

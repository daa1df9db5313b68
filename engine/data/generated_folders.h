// Generated images in ImageNet's layout.
#pragma once

#include <cstdint>
#include <filesystem>

namespace lockstep::data {

struct GeneratedFolders {
  int64_t train = 4096, test = 512;  ///< images, assigned to classes in turn
  int64_t classes = 10;
  int64_t width = 336, height = 256;  ///< per image, in pixels
  uint64_t seed = 0;
};

/// Writes `folder`/train/<class>/*.JPEG and `folder`/val/<class>/*.JPEG atomically,
/// with images as in generated.h. `generated.txt` marks the set as generated
/// (`is_generated`). Throws std::runtime_error if `folder` exists and is not empty, if
/// a class would have no image, or if it cannot be written.
void generate_image_folders(const std::filesystem::path& folder,
                            const GeneratedFolders& options);

}  // namespace lockstep::data

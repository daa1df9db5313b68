// Generated images in ImageNet's layout.
#pragma once

#include <cstdint>
#include <filesystem>

namespace lockstep::data {

struct GeneratedFolders {
  int64_t train = 4096, test = 512;  ///< images, assigned to classes round-robin
  int64_t classes = 10;
  int64_t width = 336, height = 256;  ///< of each image, in pixels
  uint64_t seed = 0;
};

/// Atomically writes `folder`/train/<class>/*.JPEG and `folder`/val/<class>/*.JPEG with
/// images as in generated.h. A file `generated.txt` marks the set as generated (see
/// `is_generated`). Throws std::runtime_error if `folder` exists and is not empty, if a
/// class would have no images, or if the set cannot be written.
void generate_image_folders(const std::filesystem::path& folder,
                            const GeneratedFolders& options);

}  // namespace lockstep::data

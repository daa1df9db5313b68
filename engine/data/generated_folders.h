// Generated pictures in ImageNet's layout, for when there are no photographs.
#pragma once

#include <cstdint>
#include <filesystem>

namespace lockstep::data {

struct GeneratedFolders {
  int64_t train = 4096, test = 512;  ///< pictures, dealt out to the classes in turn
  int64_t classes = 10;
  int64_t width = 336, height = 256;  ///< of each, in pixels
  uint64_t seed = 0;
};

/// Writes `folder`/train/<class>/*.JPEG and `folder`/val/<class>/*.JPEG, pictures as
/// in generated.h: all of them or, after an error, none. `generated.txt` says what it
/// is (`is_generated`). Throws std::runtime_error if `folder` exists and is not empty,
/// if a class would be without a picture, or if it cannot be written.
void generate_image_folders(const std::filesystem::path& folder,
                            const GeneratedFolders& options);

}  // namespace lockstep::data

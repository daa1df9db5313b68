// Photographs in folders: ImageNet's layout, as torchvision's ImageFolder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/folder_index.h"

namespace lockstep::data {

/// The ImageNet example's sides: images of 224, cropped from a short side of 256.
inline constexpr int64_t kImageNetSize = 224;
inline constexpr int64_t kImageNetClasses = 1000;

struct ImageFolderOptions {
  bool augment =
      false;  ///< RandomResizedCrop and flip, otherwise Resize and CenterCrop
  int64_t size = kImageNetSize;        ///< side of the square output, in pixels
  int64_t classes = kImageNetClasses;  ///< upper bound of labels; the model's outputs
};

/// `folder`/<class>/<image> as 3 x size x size values, normalised with ImageNet's mean
/// and deviation. An image's label is the position of its class folder in
/// `class_names`.
/// `get` throws BadSample, one line that names the file, if the file cannot be read or
/// decoded; files are opened on access, so they may have been deleted.
class ImageFolder : public Dataset {
 public:
  /// Throws std::runtime_error, one line with the fix, as FolderIndex does, and if
  /// there are more class folders than options.classes, or one that is not among
  /// `class_names` (empty: the folder's own classes).
  ImageFolder(const std::filesystem::path& folder, ImageFolderOptions options,
              std::vector<std::string> class_names = {});

  int64_t size() const override { return index_.size(); }
  std::vector<int64_t> sample_shape() const override {
    return {3, options_.size, options_.size};
  }
  int64_t classes() const override { return options_.classes; }
  int64_t get(int64_t index, Draws& draws, std::span<float> image) const override;

  std::string describe(int64_t index) const override { return index_.path(index); }

  const FolderIndex& index() const { return index_; }
  /// Indexed by label.
  const std::vector<std::string>& class_names() const { return class_names_; }

 private:
  FolderIndex index_;
  ImageFolderOptions options_;
  std::vector<std::string> class_names_;
  std::vector<int64_t> labels_;  ///< by position among the index's classes
};

/// Reads a file into `bytes`. Throws std::runtime_error without its name.
void read_whole(const std::string& path, std::vector<uint8_t>& bytes);

/// True if the folder contains train/ and val/, as in ImageNet's layout.
bool has_image_folders(const std::filesystem::path& folder);

}  // namespace lockstep::data

// Photographs in ImageNet's folder layout, like torchvision's ImageFolder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/folder_index.h"

namespace lockstep::data {

/// As in PyTorch's ImageNet example: 224-pixel crops from a short side of 256.
inline constexpr int64_t kImageNetSize = 224;
inline constexpr int64_t kImageNetClasses = 1000;

struct ImageFolderOptions {
  bool augment =
      false;  ///< RandomResizedCrop and flip, otherwise Resize and CenterCrop
  int64_t size = kImageNetSize;        ///< side of the square output, in pixels
  int64_t classes = kImageNetClasses;  ///< upper bound of labels: model outputs
};

/// The images `folder`/<class>/<image> as 3 x size x size values, normalised with the
/// mean and standard deviation of ImageNet. The label of an image is the index of its
/// class folder in `class_names`.
/// `get` throws BadSample with a one-line message naming the file if it cannot be read
/// or decoded; files are opened on access, so they may have been deleted.
class ImageFolder : public Dataset {
 public:
  /// Throws std::runtime_error with a one-line message if FolderIndex does, if there
  /// are more classes than options.classes, or if a class folder is not listed in
  /// `class_names`. If `class_names` is empty, the folder's own classes are used.
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
  /// Returns the class names, indexed by label.
  const std::vector<std::string>& class_names() const { return class_names_; }

 private:
  FolderIndex index_;
  ImageFolderOptions options_;
  std::vector<std::string> class_names_;
  std::vector<int64_t> labels_;  ///< indexed by class, as in index_
};

/// Reads a file into `bytes`. Throws std::runtime_error without the file name.
void read_whole(const std::string& path, std::vector<uint8_t>& bytes);

/// Returns true if the folder contains train/ and val/, as in ImageNet's layout.
bool has_image_folders(const std::filesystem::path& folder);

}  // namespace lockstep::data

// Photographs in folders: ImageNet's layout, and torchvision's ImageFolder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/folder_index.h"

namespace lockstep::data {

/// The ImageNet example's sides: pictures of 224, cut from a short side of 256.
inline constexpr int64_t kImageNetSize = 224;
inline constexpr int64_t kImageNetClasses = 1000;

struct ImageFolderOptions {
  bool augment = false;  ///< RandomResizedCrop and flip, else Resize, CenterCrop
  int64_t size = kImageNetSize;        ///< of the square that comes out, in pixels
  int64_t classes = kImageNetClasses;  ///< labels are below it; the model's outputs
};

/// `folder`/<class>/<picture>, as 3 x size x size numbers, normalised with ImageNet's
/// mean and deviation. A picture's label is its class folder's position in
/// `class_names`.
/// `get` throws BadSample, one line that names the file, for one that cannot be read or
/// decoded; files are opened when they are asked for, so they may have vanished.
class ImageFolder : public Dataset {
 public:
  /// Throws std::runtime_error, one line with the fix: see FolderIndex, and where
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
  /// By label.
  const std::vector<std::string>& class_names() const { return class_names_; }

 private:
  FolderIndex index_;
  ImageFolderOptions options_;
  std::vector<std::string> class_names_;
  std::vector<int64_t> labels_;  ///< by position among the index's classes
};

/// The bytes of a file, into `bytes`. Throws std::runtime_error without its name.
void read_whole(const std::string& path, std::vector<uint8_t>& bytes);

/// Has this folder the two folders of ImageNet's layout, train/ and val/?
bool has_image_folders(const std::filesystem::path& folder);

}  // namespace lockstep::data

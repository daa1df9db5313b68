// Images in ImageNet's folder layout, like torchvision's ImageFolder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/data/pixels.h"

namespace lockstep::data {

/// A memory-efficient index of the images in a folder of class folders: the images
/// below `root`/<class>/, ordered as in torchvision's ImageFolder (classes by name,
/// bytewise, then folders by path, then files by name). Includes only files whose names
/// end in .jpg, .jpeg or .png (case-insensitive). Follows symbolic links to folders.
///
/// Each image takes the length of its name plus 8 bytes: names are concatenated in one
/// string, and the class is found by binary search. 1,000,000 images with names as in
/// ImageNet take about 35 MB. Const calls are thread-safe.
class FolderIndex {
 public:
  /// Lists the folder. Throws std::runtime_error with a one-line message if `root` is
  /// not a folder, cannot be listed or has no class folders, if a class has no images,
  /// or if a symbolic link leads back to a folder above it.
  explicit FolderIndex(const std::filesystem::path& root);

  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  const std::vector<std::string>& classes() const { return classes_; }

  /// Returns how many files were left out, by their endings (in lower case): images of
  /// formats that torchvision's ImageFolder lists and this one does not.
  const std::map<std::string, int64_t>& left_out() const { return left_out_; }

  std::string path(int64_t index) const;
  /// Returns the index of the image's class in `classes()`.
  int64_t label(int64_t index) const;

  /// Returns the bytes of memory used for the images (not for the classes).
  int64_t memory() const;

 private:
  void list(const std::filesystem::path& folder, size_t prefix,
            std::vector<std::string>& above);

  std::filesystem::path root_;
  std::vector<std::string> classes_;
  std::map<std::string, int64_t> left_out_;
  std::vector<int64_t> class_ends_;  ///< index after the last image of each class
  std::string names_;                ///< relative to the class folder
  std::vector<uint64_t> ends_;       ///< end of each image's name in `names_`
};

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
/// `get` and `get_bytes` throw BadSample with a one-line message naming the file if it
/// cannot be read or decoded; files are opened on access, so they may have been
/// deleted.
class ImageFolder : public ImageDataset {
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
  int64_t get_bytes(int64_t index, Draws& draws,
                    std::span<uint8_t> planes) const override;
  const Normalize& normalize() const override { return imagenet_normalize(); }
  /// Normalises while it copies the decoded photograph.
  int64_t get(int64_t index, Draws& draws, std::span<float> image) const override;

  std::string describe(int64_t index) const override { return index_.path(index); }

  const FolderIndex& index() const { return index_; }
  /// Returns the class names, indexed by label.
  const std::vector<std::string>& class_names() const { return class_names_; }

 private:
  template <typename T, typename Value>
  int64_t read(int64_t index, Draws& draws, const Value& value,
               std::span<T> planes) const;

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

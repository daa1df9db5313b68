// Generated images: a learnable data set, for use without a real one.
//
// Each class has a colour (a position on the colour wheel) and a wave (a direction and
// a number of periods). An image consists of the colour and the wave of its class, with
// a random phase, plus noise. Neighbouring colours overlap, so a model must also
// recognise the waves, just as it must recognise shapes in photographs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/data/pixels.h"
#include "engine/data/transforms.h"

namespace lockstep::data {

/// Draws image `index` for `seed` into 3 planes of bytes; its class is index % classes.
/// A pure function; other seeds yield other images of the same classes.
void draw_picture(int64_t index, int64_t classes, ImageSize size, uint64_t seed,
                  std::span<uint8_t> bytes);

/// Images of any size that are generated on access, normalised with mean 0.5 and
/// standard deviation 0.25, without augmentation.
class Generated : public ImageDataset {
 public:
  /// `shape` is 3,H,W. Throws std::runtime_error for any other shape or if `classes` is
  /// less than 1.
  Generated(const std::vector<int64_t>& shape, int64_t classes, int64_t length,
            uint64_t seed = 0);

  int64_t size() const override { return length_; }
  std::vector<int64_t> sample_shape() const override {
    return {3, size_.height, size_.width};
  }
  int64_t classes() const override { return classes_; }
  int64_t get_bytes(int64_t index, Draws& draws,
                    std::span<uint8_t> planes) const override;
  const Normalize& normalize() const override;

 private:
  ImageSize size_;
  int64_t classes_, length_;
  uint64_t seed_;
};

/// Atomically writes such a set in CIFAR-10's binary format to the new folder `folder`.
/// The training records are distributed over five files. A file `generated.txt` marks
/// the set as generated. Throws std::runtime_error if `folder` exists and is not empty,
/// if fewer than 5 training records or no test records are requested, or if the set
/// cannot be written.
void generate_cifar10(const std::filesystem::path& folder, int64_t train_records,
                      int64_t test_records, uint64_t seed);

/// Writes the file `generated.txt`, which marks a data set as generated.
void write_generated_marker(const std::filesystem::path& folder,
                            const std::string& text);

/// Returns true if the set in this folder was generated. For CIFAR-10, pass the folder
/// returned by `cifar10_folder`.
bool is_generated(const std::filesystem::path& folder);

/// Generated images in ImageNet's layout.
struct GeneratedFolders {
  int64_t train = 4096, test = 512;  ///< images, assigned to classes round-robin
  int64_t classes = 10;
  int64_t width = 336, height = 256;  ///< of each image, in pixels
  uint64_t seed = 0;
};

/// Atomically writes `folder`/train/<class>/*.JPEG and `folder`/val/<class>/*.JPEG with
/// images like those of `Generated`. A file `generated.txt` marks the set as generated
/// (see `is_generated`). Throws std::runtime_error if `folder` exists and is not empty,
/// if a class would have no images, or if the set cannot be written.
void generate_image_folders(const std::filesystem::path& folder,
                            const GeneratedFolders& options);

/// The notebook's data set, torch.randn(length, features): `length` vectors of normally
/// distributed values. The notebook's vectors have no labels; here each has one of two
/// random classes, so that a loss can be computed.
class RandomDataset : public Dataset {
 public:
  RandomDataset(int64_t length, int64_t features, uint64_t seed = 0)
      : length_(length), features_(features), philox_{seed} {}

  int64_t size() const override { return length_; }
  std::vector<int64_t> sample_shape() const override { return {features_}; }
  int64_t classes() const override { return 2; }

  int64_t get(int64_t index, Draws& /*draws*/, std::span<float> image) const override {
    static const uint64_t numbers = fnv1a64("random/images");
    static const uint64_t labels = fnv1a64("random/labels");
    for (int64_t i = 0; i < features_; ++i) {
      const double number = philox_.normal(index * features_ + i, numbers);
      image[i] = static_cast<float>(number);
    }
    return philox_.uniform(index, labels) < 0.5 ? 0 : 1;
  }

 private:
  int64_t length_, features_;
  Philox philox_;
};

}  // namespace lockstep::data

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

#include "engine/data/dataset.h"
#include "engine/data/transforms.h"

namespace lockstep::data {

/// Draws image `index` for `seed`, which is of class index % classes, into 3 planes of
/// bytes. A pure function; other seeds yield other images of the same classes.
void draw_picture(int64_t index, int64_t classes, ImageSize size, uint64_t seed,
                  std::span<uint8_t> bytes);

/// Images of any size that are generated on access, normalised with mean 0.5 and
/// standard deviation 0.25, without augmentation.
class Generated : public Dataset {
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
  int64_t get(int64_t index, Draws& draws, std::span<float> image) const override;

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

}  // namespace lockstep::data

// Generated pictures: a set that can be learnt, for when there is no real one.
//
// Class k has a colour (its place on the colour wheel) and a wave (its direction and
// its number of periods). A picture is its class's colour and its class's wave, which
// begins anywhere, under noise. Colours of neighbours overlap: a net must also look at
// the waves, as it must look at shapes in photographs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/transforms.h"

namespace lockstep::data {

/// Draws picture `index` of `seed`, of class index % classes, into 3 planes of bytes.
/// A pure function; another seed gives other pictures of the same classes.
void draw_picture(int64_t index, int64_t classes, ImageSize size, uint64_t seed,
                  std::span<uint8_t> bytes);

/// Pictures that are drawn when they are asked for, of any size, normalised with mean
/// 0.5 and deviation 0.25, not augmented.
class Generated : public Dataset {
 public:
  /// `shape` is 3,H,W. Throws std::runtime_error for another shape or no classes.
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

/// Writes such a set in CIFAR-10's binary format as the new folder `folder`: all of its
/// files or, after an error, none. The training records are shared over five files.
/// Another one, `generated.txt`, says what it is: nobody shall take it for the real
/// set. Throws std::runtime_error if `folder` exists and is not empty, if there are
/// fewer than 5 training records or no test record, or if it cannot be written.
void generate_cifar10(const std::filesystem::path& folder, int64_t train_records,
                      int64_t test_records, uint64_t seed);

/// `generated.txt`, which says so of a whole set.
void write_generated_marker(const std::filesystem::path& folder,
                            const std::string& text);

/// Was the set in this folder made by us (CIFAR-10's as `cifar10_folder` names it)?
bool is_generated(const std::filesystem::path& folder);

}  // namespace lockstep::data

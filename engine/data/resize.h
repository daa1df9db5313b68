// Resizing like PIL's: bilinear with antialiasing, in fixed-point arithmetic; and crops
// of photographs, with the geometry of torchvision.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/picture.h"

namespace lockstep::data {

/// The weights along one side: output pixel o is the weighted sum of the input pixels
/// first[o] … first[o] + used[o] - 1.
///
/// The weights form a triangle around the centre of the output pixel. When enlarging,
/// it extends one input pixel to each side; when shrinking, it is wider by the scale
/// factor, so that every input pixel contributes (antialiasing). A triangle crossing
/// the border is truncated and renormalised. Weights are integers in units of 2^-22, as
/// in PIL, so results are bit-identical.
struct Weights {
  static constexpr int kBits = 22;

  /// Computes the weights for outputs [begin, begin + count) of a side that is resized
  /// from `input` to `output` pixels.
  Weights(int64_t input, int64_t output, int64_t begin, int64_t count);

  const int32_t* of(int64_t i) const { return values.data() + i * taps; }

  int64_t taps = 0;  ///< allocated weights per output
  std::vector<int64_t> first;
  std::vector<int64_t> used;  ///< weights in use per output
  std::vector<int32_t> values;
};

/// Resizes `input` to width x height and stores only `part` of the result in `output`.
/// Identical to PIL's `image.resize((width, height), Image.BILINEAR).crop(part)`, which
/// rounds to bytes after resizing rows and again after columns. `between` is scratch
/// memory. Thread-safe.
void resize(const Picture& input, int64_t width, int64_t height, const Box& part,
            Picture& between, Picture& output);

/// A crop to `cut`, a resize to width x height, a crop to `part`, and perhaps a flip.
struct View {
  Box cut;
  int64_t width = 0, height = 0;
  Box part;
  bool flip = false;
};

/// RandomResizedCrop(size) and RandomHorizontalFlip(): returns a box of 8 to 100 % of
/// the area with an aspect ratio of 3:4 to 4:3 (log-uniform). If none of ten attempts
/// fits, returns the largest central box with an allowed ratio. Draws, in this order,
/// the area and ratio for each attempt, top and left, and the flip.
View random_resized_crop(PictureSize picture, int64_t size, Draws& draws);

/// Resize(short_side) and CenterCrop(size). REQUIRES: size ≤ short_side.
View center_crop(PictureSize picture, int64_t short_side, int64_t size);

}  // namespace lockstep::data

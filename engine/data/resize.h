// Resizing as PIL does: bilinear with antialiasing, in fixed point.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/picture.h"

namespace lockstep::data {

/// The weights along one side: output pixel o is the weighted sum of the input pixels
/// first[o] … first[o] + taps - 1.
///
/// The weights form a triangle around the output pixel's centre. It extends one input
/// pixel to each side when enlarging and, when shrinking, is wider by the scale factor,
/// so that every input pixel contributes (antialiasing). A triangle that crosses the
/// border is truncated and renormalised. Weights are integers in units of 2^-22, as in
/// PIL, so results are bit-identical.
struct Weights {
  static constexpr int kBits = 22;

  /// For the outputs [begin, begin + count) of a side that is resized from `input` to
  /// `output` pixels.
  Weights(int64_t input, int64_t output, int64_t begin, int64_t count);

  const int32_t* of(int64_t i) const { return values.data() + i * taps; }

  int64_t taps = 0;  ///< capacity per output
  std::vector<int64_t> first;
  std::vector<int64_t> used;  ///< taps in use, by output
  std::vector<int32_t> values;
};

/// Resizes `input` to width x height, and stores only `part` of the result in `output`.
/// Equals PIL's `image.resize((width, height), Image.BILINEAR).crop(part)`, which
/// rounds to bytes after rows and again after columns. `between` is scratch memory.
/// Thread-safe.
void resize(const Picture& input, int64_t width, int64_t height, const Box& part,
            Picture& between, Picture& output);

}  // namespace lockstep::data

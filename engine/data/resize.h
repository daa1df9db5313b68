// Resizing as PIL does it: bilinear with antialiasing, in fixed point.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/picture.h"

namespace lockstep::data {

/// How output pixels along one side are made: number o is the weighted sum of the
/// input pixels first[o] … first[o] + taps - 1.
///
/// The weights are those of a triangle around the output pixel's centre; it is one
/// input pixel wide on each side when enlarging, and wider by the factor of shrinking
/// when shrinking, so that every input pixel has its part (antialiasing). A triangle
/// that stands over the border is cut off and scaled up. Weights are integers in units
/// of 2^-22, as in PIL, so that results are equal to the bit.
struct Weights {
  static constexpr int kBits = 22;

  /// For the outputs [begin, begin + count) of a side that goes from `input` to
  /// `output` pixels.
  Weights(int64_t input, int64_t output, int64_t begin, int64_t count);

  const int32_t* of(int64_t i) const { return values.data() + i * taps; }

  int64_t taps = 0;  ///< room for each output
  std::vector<int64_t> first;
  std::vector<int64_t> used;  ///< how many of its `taps` an output has
  std::vector<int32_t> values;
};

/// Resizes `input` to width x height, and keeps only `part` of that, in `output`.
/// Equal to PIL's `image.resize((width, height), Image.BILINEAR).crop(part)`, which
/// rounds to bytes after the rows and again after the columns. `between` is memory
/// that is used in between. Thread-safe.
void resize(const Picture& input, int64_t width, int64_t height, const Box& part,
            Picture& between, Picture& output);

}  // namespace lockstep::data

#include "engine/data/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace lockstep::data {

Weights::Weights(int64_t input, int64_t output, int64_t begin, int64_t count) {
  const double scale = static_cast<double>(input) / static_cast<double>(output);
  const double reach = std::max(scale, 1.0);  // half-width of the triangle
  taps = 2 * static_cast<int64_t>(std::ceil(reach)) + 1;
  first.resize(count);
  used.resize(count);
  values.assign(count * taps, 0);

  std::vector<double> triangle(taps);
  for (int64_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(begin + i) + 0.5) * scale;
    first[i] = std::max<int64_t>(0, static_cast<int64_t>(centre - reach + 0.5));
    const int64_t end = std::min(input, static_cast<int64_t>(centre + reach + 0.5));
    used[i] = end - first[i];

    double sum = 0;
    const double slope = 1.0 / reach;
    for (int64_t k = 0; k < used[i]; ++k) {
      const double distance = static_cast<double>(k + first[i]) - centre + 0.5;
      triangle[k] = std::max(0.0, 1.0 - std::abs(distance * slope));
      sum += triangle[k];
    }
    for (int64_t k = 0; k < used[i]; ++k) {
      const double weight = triangle[k] / sum;
      values[i * taps + k] = static_cast<int32_t>(0.5 + weight * (1 << kBits));
    }
  }
}

namespace {

constexpr int32_t kHalf = 1 << (Weights::kBits - 1);

uint8_t to_byte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> Weights::kBits, 0, 255));
}

/// Resizes one row: computes each output pixel from neighbouring pixels of the row. The
/// four channels of a pixel form one vector.
void resize_row(const uint8_t* in, const Weights& weights, int64_t count,
                uint8_t* out) {
  for (int64_t x = 0; x < count; ++x, out += Picture::kPixel) {
    std::array<int32_t, 4> sum{kHalf, kHalf, kHalf, kHalf};
    const uint8_t* pixel = in + weights.first[x] * Picture::kPixel;
    const int32_t* weight = weights.of(x);
    for (int64_t k = 0; k < weights.used[x]; ++k, pixel += Picture::kPixel) {
      for (int c = 0; c < 4; ++c) sum[c] += pixel[c] * weight[k];
    }
    for (int c = 0; c < 4; ++c) out[c] = to_byte(sum[c]);
  }
}

/// Computes one row of the output from input rows. Bytes are independent, so the row is
/// processed in pieces that fit in registers.
void blend_rows(const Picture& in, int64_t first, const int32_t* weight, int64_t used,
                uint8_t* out) {
  constexpr int64_t kPiece = 64;
  const int64_t bytes = in.width * Picture::kPixel;
  for (int64_t begin = 0; begin < bytes; begin += kPiece) {
    const int64_t piece = std::min(kPiece, bytes - begin);
    std::array<int32_t, kPiece> sum;
    sum.fill(kHalf);
    for (int64_t k = 0; k < used; ++k) {
      const uint8_t* row = in.row(first + k) + begin;
      if (piece == kPiece) {
        for (int64_t i = 0; i < kPiece; ++i) sum[i] += row[i] * weight[k];
      } else {
        for (int64_t i = 0; i < piece; ++i) sum[i] += row[i] * weight[k];
      }
    }
    for (int64_t i = 0; i < piece; ++i) out[begin + i] = to_byte(sum[i]);
  }
}

}  // namespace

void resize(const Picture& input, int64_t width, int64_t height, const Box& part,
            Picture& between, Picture& output) {
  const Weights across(input.width, width, part.left, part.width);
  const Weights down(input.height, height, part.top, part.height);

  // The first pass computes only the rows that the second pass reads.
  const int64_t top = down.first.front();
  const int64_t bottom = down.first.back() + down.used.back();
  between.resize(part.width, bottom - top);
  for (int64_t y = top; y < bottom; ++y) {
    if (width == input.width) {  // PIL skips this pass, so rows stay exact
      std::memcpy(between.row(y - top), input.row(y) + part.left * Picture::kPixel,
                  part.width * Picture::kPixel);
    } else {
      resize_row(input.row(y), across, part.width, between.row(y - top));
    }
  }
  output.resize(part.width, part.height);
  for (int64_t y = 0; y < part.height; ++y) {
    blend_rows(between, down.first[y] - top, down.of(y), down.used[y], output.row(y));
  }
}

}  // namespace lockstep::data

// Arithmetic on 0xAABBGGRR colours with straight alpha. Two channels are kept 16 bits
// apart in one integer, so that one multiplication handles both.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lockstep::gui {

constexpr uint32_t kOpaque = 0xff000000;

/// Divides both halves of `x` (0 to 255 * 255 each) by 255, with exact rounding.
inline uint32_t divide_pair_by_255(uint32_t x) {
  x += 0x00800080;
  return ((x + ((x >> 8) & 0x00ff00ff)) >> 8) & 0x00ff00ff;
}

inline uint32_t divide_by_255(uint32_t x) {  // 0 to 255 * 255
  x += 128;
  return (x + (x >> 8)) >> 8;
}

/// Composites `source` over an opaque `below`.
inline uint32_t blend(uint32_t below, uint32_t source) {
  const uint32_t alpha = source >> 24, rest = 255 - alpha;
  const uint32_t red_blue = (source & 0xff00ff) * alpha + (below & 0xff00ff) * rest;
  const uint32_t green = ((source >> 8) & 0xff) * alpha + ((below >> 8) & 0xff) * rest;
  return kOpaque | divide_pair_by_255(red_blue) | divide_by_255(green) << 8;
}

/// Composites `source` over `count` opaque pixels; does nothing if `count` < 1.
inline void blend_row(uint32_t* pixels, int count, uint32_t source) {
  if (source >= kOpaque) {
    for (int i = 0; i < count; ++i) pixels[i] = source;
  } else {
    for (int i = 0; i < count; ++i) pixels[i] = blend(pixels[i], source);
  }
}

inline uint32_t with_alpha(uint32_t color, uint32_t alpha) {
  return (color & ~kOpaque) | alpha << 24;
}

/// Multiplies a colour by a texel, channel by channel.
inline uint32_t modulate(uint32_t color, uint32_t texel) {
  if (texel == 0xffffffff) return color;
  const uint32_t alpha = divide_by_255((color >> 24) * (texel >> 24));
  if ((texel & ~kOpaque) == 0x00ffffff) return with_alpha(color, alpha);
  uint32_t product = alpha << 24;
  for (int shift = 0; shift < 24; shift += 8) {
    product |= divide_by_255((color >> shift & 255) * (texel >> shift & 255)) << shift;
  }
  return product;
}

/// Interpolates between two colours; `weight`, 0 to 256, applies to the second. (The
/// sum of the two products is at most 255 * 256 and fits into 16 bits.)
inline uint32_t mix(uint32_t first, uint32_t second, uint32_t weight) {
  const uint32_t rest = 256 - weight;
  const uint32_t red_blue = (first & 0xff00ff) * rest + (second & 0xff00ff) * weight;
  const uint32_t green_alpha =
      (first >> 8 & 0xff00ff) * rest + (second >> 8 & 0xff00ff) * weight;
  return (red_blue >> 8 & 0xff00ff) | (green_alpha & 0xff00ff00);
}

}  // namespace lockstep::gui

// The 36 matrix products in the middle of Winograd's algorithm, one per point: small
// enough for registers and the L1 cache.
//
// All matrices are stored in panels: V as C/8 × tiles × 8 (transformed inputs), U as
// K/16 × C × 16 (filters), M as K/16 × tiles × 16 (products).
#pragma once

#include "engine/backends/cpu/winograd_tile.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

namespace lockstep::cpu::winograd {

/// Computes kRows tiles × 16 channels of M; 6 rows use 12 of 16 registers for sums.
template <int kRows>
void multiply_rows(const float* v, int64_t panel, const float* u, int64_t channels,
                   float* m) {
  Lanes sum[kRows][2] = {};
  for (int64_t c = 0; c < channels; c += 8, v += panel) {
#pragma GCC unroll 8
    for (int lane = 0; lane < 8; ++lane, u += 16) {
      const Lanes low = load(u), high = load(u + 8);
#pragma GCC unroll 6
      for (int row = 0; row < kRows; ++row) {
        const Lanes x = broadcast(v[row * 8 + lane]);
        sum[row][0] += x * low;
        sum[row][1] += x * high;
      }
    }
  }
  for (int row = 0; row < kRows; ++row) {
    store(m + row * 16, sum[row][0]);
    store(m + row * 16 + 8, sum[row][1]);
  }
}

/// Computes one panel of M = V U.
inline void multiply(const float* v, int64_t tiles, const float* u, int64_t channels,
                     float* m) {
  const int64_t panel = tiles * 8;
  int64_t tile = 0;
  for (; tile + 6 <= tiles; tile += 6, v += 6 * 8, m += 6 * 16) {
    multiply_rows<6>(v, panel, u, channels, m);
  }
  switch (tiles - tile) {
    case 5:
      return multiply_rows<5>(v, panel, u, channels, m);
    case 4:
      return multiply_rows<4>(v, panel, u, channels, m);
    case 3:
      return multiply_rows<3>(v, panel, u, channels, m);
    case 2:
      return multiply_rows<2>(v, panel, u, channels, m);
    case 1:
      return multiply_rows<1>(v, panel, u, channels, m);
    default:
      return;
  }
}

/// Computes 4 channels × 16 of dU (+)= Vᵀ dM, summed over these tiles. `v` points to
/// the first of the 4 channels in its panel. Adds separate partial sums: two levels of
/// summation lose less precision than one.
inline void multiply_over_tiles(const float* v, const float* dm, int64_t tiles,
                                float* du, bool first) {
  Lanes sum[4][2] = {};
  for (int64_t tile = 0; tile < tiles; ++tile, v += 8, dm += 16) {
    const Lanes low = load(dm), high = load(dm + 8);
#pragma GCC unroll 4
    for (int row = 0; row < 4; ++row) {
      const Lanes x = broadcast(v[row]);
      sum[row][0] += x * low;
      sum[row][1] += x * high;
    }
  }
  for (int row = 0; row < 4; ++row) {
    for (int half = 0; half < 2; ++half) {
      float* to = du + row * 16 + half * 8;
      store(to, first ? sum[row][half] : load(to) + sum[row][half]);
    }
  }
}

}  // namespace lockstep::cpu::winograd

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

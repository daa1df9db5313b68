// Winograd's algorithm for 3×3 windows, on one tile of 4×4 results: F(4×4, 3×3).
//
// A row of 4 results of a 3-tap filter is a product of two polynomials. Instead of
// multiplying coefficient by coefficient (12 products), both are evaluated at 6 points,
// multiplied there (6 products) and interpolated. In two dimensions that is 36 products
// instead of 144. Each transform below handles one dimension; transform2d() applies it
// to the columns, then to the rows. For a filter g and inputs d:
//
//     y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A
//
// The points are 0, ±a, ±b and infinity. Textbooks use ±1 and ±2; ±3/4 and ±3/2 reduce
// the rounding error to a third at the same cost.
//
// All transforms process 8 channels at a time, contiguous in memory.
// Source: A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural Networks, 2015,
// with matrices for general points from the Toom-Cook construction.
#pragma once

#include <cstdint>
#include <cstring>

// For processors with AVX2 and FMA: callers must check has_winograd().
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

namespace lockstep::cpu {

/// Eight channels in one AVX register.
using Lanes = float __attribute__((vector_size(32)));

inline Lanes load(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline void store(float* to, Lanes lanes) { std::memcpy(to, &lanes, sizeof lanes); }
inline Lanes broadcast(float x) { return Lanes{x, x, x, x, x, x, x, x}; }

namespace winograd {

constexpr int kTile = 4;   ///< results per tile in each dimension
constexpr int kInput = 6;  ///< inputs required for them
constexpr int kPoints = 36;

constexpr float a = 0.75f, b = 1.5f;
constexpr float a2 = a * a, b2 = b * b, a3 = a * a2, b3 = b * b2;
constexpr float at_0 = 1 / (a2 * b2);  // interpolation scales
constexpr float at_a = 1 / (2 * a2 * (a2 - b2)), at_b = 1 / (2 * b2 * (b2 - a2));

/// Bᵀ: 6 inputs → their values at the points.
struct Input {
  static constexpr int from = 6, to = 6;
  static void apply(const float* d, int64_t in, float* v, int64_t out) {
    const Lanes d0 = load(d), d1 = load(d + in), d2 = load(d + 2 * in),
                d3 = load(d + 3 * in), d4 = load(d + 4 * in), d5 = load(d + 5 * in);
    const Lanes even_a = d4 - b2 * d2, odd_a = a * (d3 - b2 * d1);
    const Lanes even_b = d4 - a2 * d2, odd_b = b * (d3 - a2 * d1);
    store(v, a2 * b2 * d0 - (a2 + b2) * d2 + d4);
    store(v + out, even_a + odd_a);
    store(v + 2 * out, even_a - odd_a);
    store(v + 3 * out, even_b + odd_b);
    store(v + 4 * out, even_b - odd_b);
    store(v + 5 * out, a2 * b2 * d1 - (a2 + b2) * d3 + d5);
  }
};

/// G: a filter's 3 taps → their values at the points, scaled for interpolation.
struct Filter {
  static constexpr int from = 3, to = 6;
  static void apply(const float* g, int64_t in, float* u, int64_t out) {
    const Lanes g0 = load(g), g1 = load(g + in), g2 = load(g + 2 * in);
    const Lanes even_a = at_a * (g0 + a2 * g2), odd_a = at_a * a * g1;
    const Lanes even_b = at_b * (g0 + b2 * g2), odd_b = at_b * b * g1;
    store(u, at_0 * g0);
    store(u + out, even_a + odd_a);
    store(u + 2 * out, even_a - odd_a);
    store(u + 3 * out, even_b + odd_b);
    store(u + 4 * out, even_b - odd_b);
    store(u + 5 * out, g2);
  }
};

/// Aᵀ: products at the points → 4 results.
struct Output {
  static constexpr int from = 6, to = 4;
  static void apply(const float* m, int64_t in, float* y, int64_t out) {
    const Lanes m1 = load(m + in), m2 = load(m + 2 * in), m3 = load(m + 3 * in),
                m4 = load(m + 4 * in);
    const Lanes sum_a = m1 + m2, difference_a = m1 - m2;
    const Lanes sum_b = m3 + m4, difference_b = m3 - m4;
    store(y, load(m) + sum_a + sum_b);
    store(y + out, a * difference_a + b * difference_b);
    store(y + 2 * out, a2 * sum_a + b2 * sum_b);
    store(y + 3 * out, a3 * difference_a + b3 * difference_b + load(m + 5 * in));
  }
};

/// A, the gradient of Output: gradients of 4 results → gradients of products.
struct OutputGradient {
  static constexpr int from = 4, to = 6;
  static void apply(const float* y, int64_t in, float* m, int64_t out) {
    const Lanes y0 = load(y), y1 = load(y + in), y2 = load(y + 2 * in),
                y3 = load(y + 3 * in);
    const Lanes even_a = y0 + a2 * y2, odd_a = a * y1 + a3 * y3;
    const Lanes even_b = y0 + b2 * y2, odd_b = b * y1 + b3 * y3;
    store(m, y0);
    store(m + out, even_a + odd_a);
    store(m + 2 * out, even_a - odd_a);
    store(m + 3 * out, even_b + odd_b);
    store(m + 4 * out, even_b - odd_b);
    store(m + 5 * out, y3);
  }
};

/// Gᵀ, the gradient of Filter: gradients at the points → gradients of 3 taps.
struct FilterGradient {
  static constexpr int from = 6, to = 3;
  static void apply(const float* u, int64_t in, float* g, int64_t out) {
    const Lanes u1 = load(u + in), u2 = load(u + 2 * in), u3 = load(u + 3 * in),
                u4 = load(u + 4 * in);
    const Lanes sum_a = at_a * (u1 + u2), sum_b = at_b * (u3 + u4);
    store(g, at_0 * load(u) + sum_a + sum_b);
    store(g + out, at_a * a * (u1 - u2) + at_b * b * (u3 - u4));
    store(g + 2 * out, a2 * sum_a + b2 * sum_b + load(u + 5 * in));
  }
};

/// A tile's strides: the distances in floats between rows and between elements.
struct Strides {
  int64_t row, column;
};
/// The strides of a contiguous tile with `kSide` columns.
template <int kSide>
constexpr Strides kPacked{kSide * 8, 8};

template <typename Transform>
void transform2d(const float* x, Strides in, float* y, Strides out) {
  constexpr int from = Transform::from, to = Transform::to;
  float columns[to * from * 8];
  for (int j = 0; j < from; ++j) {
    Transform::apply(x + j * in.column, in.row, columns + j * 8, from * 8);
  }
  for (int i = 0; i < to; ++i) {
    Transform::apply(columns + i * from * 8, 8, y + i * out.row, out.column);
  }
}

}  // namespace winograd
}  // namespace lockstep::cpu

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

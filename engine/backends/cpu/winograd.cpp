#include "engine/backends/cpu/winograd.h"

#include <algorithm>

#include "engine/backends/cpu/winograd_products.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC target("avx2,fma")
#endif

namespace lockstep::cpu {

using namespace winograd;

bool has_winograd() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

namespace {

/// Padding between the matrices of two points, so that they do not map to the same
/// cache set.
constexpr int64_t kPad = 16;

/// Strides of a tile's 6×6 values, one in the matrix of each point.
Strides points(int64_t point) { return {6 * point, point}; }

/// Returns how many tiles to process together: few enough for their matrices to fit
/// into the L2 cache, but enough to amortise loading all filters.
int64_t tiles_together(int64_t c, int64_t k, int64_t tiles) {
  constexpr int64_t kFloats = 1 << 18;  // 1 MiB
  const int64_t fitting = std::clamp<int64_t>(kFloats / (kPoints * (c + k)), 48, 192);
  return std::min(fitting / 6 * 6, tiles);
}

}  // namespace

/// Locations of the tiles' 4×4 results in an activation.
struct Winograd::Tiles {
  const Winograd& conv;

  struct Place {
    int64_t image, y, x;  ///< of the top-left result
  };
  Place at(int64_t tile) const {
    const int64_t in_image = conv.tile_rows_ * conv.tile_columns_;
    const int64_t rest = tile % in_image;
    return {tile / in_image, rest / conv.tile_columns_ * kTile,
            rest % conv.tile_columns_ * kTile};
  }
  int64_t plane(int64_t image, int64_t channels, int64_t group) const {
    return (image * (channels / 8) + group) * conv.h_ * conv.w_ * 8;
  }
  bool is_inside(int64_t y, int64_t x) const {
    return y >= 0 && y < conv.h_ && x >= 0 && x < conv.w_;
  }

  /// Calls use(x, strides) with the kSide×kSide elements starting at (y, x): in place,
  /// or in a zero-padded copy if some lie outside the image.
  template <int kSide, typename Use>
  void read(const float* plane, int64_t y, int64_t x, Use use) const {
    const float* corner = plane + (y * conv.w_ + x) * 8;
    if (is_inside(y, x) && is_inside(y + kSide - 1, x + kSide - 1)) {
      return use(corner, Strides{conv.w_ * 8, 8});
    }
    float copy[kSide * kSide * 8] = {};
    for (int i = 0; i < kSide; ++i) {
      for (int j = 0; j < kSide; ++j) {
        if (!is_inside(y + i, x + j)) continue;
        store(copy + (i * kSide + j) * 8, load(corner + (i * conv.w_ + j) * 8));
      }
    }
    use(copy, kPacked<kSide>);
  }
};

/// The workspace's three parts; consecutive matrices are `…_point` floats apart.
struct Winograd::Scratch {
  float *u, *v, *m;
  int64_t u_point, v_point, m_point;
};

Winograd::Winograd(int64_t n, int64_t c, int64_t k, int64_t h, int64_t w)
    : n_(n),
      c_(c),
      k_(k),
      h_(h),
      w_(w),
      tile_rows_((h + kTile - 1) / kTile),
      tile_columns_((w + kTile - 1) / kTile),
      tiles_(n * tile_rows_ * tile_columns_),
      block_(tiles_together(c, k, tiles_)) {}

size_t Winograd::workspace() const {
  const int64_t floats = c_ * k_ + block_ * (c_ + k_) + 3 * kPad;
  return static_cast<size_t>(floats) * kPoints * sizeof(float);
}

Winograd::Scratch Winograd::split(float* workspace, int64_t in, int64_t out) const {
  Scratch s{};
  s.u_point = in * out + kPad;
  s.v_point = block_ * in + kPad;
  s.m_point = block_ * out + kPad;
  s.u = workspace;
  s.v = s.u + s.u_point * kPoints;
  s.m = s.v + s.v_point * kPoints;
  return s;
}

namespace {

/// Computes U, the values of all filters at the points. The data gradient is also a
/// convolution, with filters rotated by 180° and channels exchanged.
void transform_filters(const float* weight, int64_t c, int64_t k, bool backward,
                       float* u, int64_t u_point) {
  const int64_t in = backward ? k : c, out = backward ? c : k;
#pragma omp for collapse(2)
  for (int64_t panel = 0; panel < out / 16; ++panel) {
    for (int64_t i = 0; i < in; ++i) {
      float taps[2][9 * 8];
      for (int64_t lane = 0; lane < 16; ++lane) {
        const int64_t o = panel * 16 + lane;
        const float* filter = weight + (backward ? i * c + o : o * c + i) * 9;
        for (int tap = 0; tap < 9; ++tap) {
          taps[lane / 8][tap * 8 + lane % 8] = filter[backward ? 8 - tap : tap];
        }
      }
      for (const int half : {0, 1}) {
        transform2d<Filter>(taps[half], kPacked<3>,
                            u + (panel * in + i) * 16 + half * 8, points(u_point));
      }
    }
  }
}

/// Transforms dU, the gradients at the points, into the gradients of the filters.
void gather_filters(const float* u, int64_t u_point, int64_t c, int64_t k,
                    float* dweight) {
#pragma omp for collapse(2)
  for (int64_t panel = 0; panel < k / 16; ++panel) {
    for (int64_t i = 0; i < c; ++i) {
      for (const int half : {0, 1}) {
        float taps[9 * 8];
        transform2d<FilterGradient>(u + (panel * c + i) * 16 + half * 8,
                                    points(u_point), taps, kPacked<3>);
        for (int lane = 0; lane < 8; ++lane) {
          float* to = dweight + ((panel * 16 + half * 8 + lane) * c + i) * 9;
          for (int tap = 0; tap < 9; ++tap) to[tap] = taps[tap * 8 + lane];
        }
      }
    }
  }
}

}  // namespace

/// All threads work on one block of tiles at a time, in three stages with barriers
/// between them: inputs to points, 36 products, products to results.
void Winograd::convolve(const float* x, const float* weight, float* y, bool backward,
                        Epilogue epilogue, float* workspace) const {
  const int64_t in = backward ? k_ : c_, out = backward ? c_ : k_;
  const Scratch s = split(workspace, in, out);
  const Tiles tiles{*this};
#pragma omp parallel
  {
    transform_filters(weight, c_, k_, backward, s.u, s.u_point);
    for (int64_t first = 0; first < tiles_; first += block_) {
      const int64_t count = std::min(block_, tiles_ - first);
#pragma omp for collapse(2)
      for (int64_t group = 0; group < in / 8; ++group) {
        for (int64_t tile = 0; tile < count; ++tile) {
          const auto place = tiles.at(first + tile);
          float* to = s.v + (group * count + tile) * 8;
          tiles.read<kInput>(x + tiles.plane(place.image, in, group), place.y - 1,
                             place.x - 1, [&](const float* d, Strides strides) {
                               transform2d<Input>(d, strides, to, points(s.v_point));
                             });
        }
      }
#pragma omp for collapse(2)
      for (int p = 0; p < kPoints; ++p) {
        for (int64_t panel = 0; panel < out / 16; ++panel) {
          multiply(s.v + p * s.v_point, count, s.u + p * s.u_point + panel * in * 16,
                   in, s.m + p * s.m_point + panel * count * 16);
        }
      }
#pragma omp for collapse(2)
      for (int64_t group = 0; group < out / 8; ++group) {
        for (int64_t tile = 0; tile < count; ++tile) {
          const auto place = tiles.at(first + tile);
          float values[kTile * kTile * 8];
          transform2d<Output>(s.m + (group / 2 * count + tile) * 16 + group % 2 * 8,
                              points(s.m_point), values, kPacked<kTile>);
          const Lanes bias = epilogue.bias ? load(epilogue.bias + group * 8) : Lanes{};
          float* plane = y + tiles.plane(place.image, out, group);
          const int64_t rows = std::min<int64_t>(kTile, h_ - place.y);
          const int64_t columns = std::min<int64_t>(kTile, w_ - place.x);
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < columns; ++j) {
              Lanes value = load(values + (i * kTile + j) * 8) + bias;
              if (epilogue.relu) value = value > 0 ? value : Lanes{};
              store(plane + ((place.y + i) * w_ + place.x + j) * 8, value);
            }
          }
        }
      }
    }
  }
}

void Winograd::forward(const float* x, const float* weight, float* y, Epilogue epilogue,
                       float* workspace) const {
  convolve(x, weight, y, false, epilogue, workspace);
}

void Winograd::backward_data(const float* dy, const float* weight, float* dx,
                             float* workspace) const {
  convolve(dy, weight, dx, true, {}, workspace);
}

/// Computes the bias gradient. Sums over a plane in float and over the batch in double.
void Winograd::sum_over_pixels(const float* dy, float* dbias) const {
#pragma omp for
  for (int64_t group = 0; group < k_ / 8; ++group) {
    double total[8] = {};
    for (int64_t image = 0; image < n_; ++image) {
      const float* plane = dy + (image * (k_ / 8) + group) * h_ * w_ * 8;
      Lanes sum{};
      for (int64_t i = 0; i < h_ * w_; ++i) sum += load(plane + i * 8);
      for (int lane = 0; lane < 8; ++lane) total[lane] += sum[lane];
    }
    for (int lane = 0; lane < 8; ++lane) {
      dbias[group * 8 + lane] = static_cast<float>(total[lane]);
    }
  }
}

/// Computes the gradient of `y = Aᵀ [U ⊙ V] A`: at each point, dU = Vᵀ dM, summed over
/// all tiles, where dM = A dy Aᵀ.
void Winograd::backward_weight(const float* x, const float* dy, float* dweight,
                               float* dbias, float* workspace) const {
  const Scratch s = split(workspace, c_, k_);
  const Tiles tiles{*this};
#pragma omp parallel
  {
    for (int64_t first = 0; first < tiles_; first += block_) {
      const int64_t count = std::min(block_, tiles_ - first);
#pragma omp for collapse(2) nowait
      for (int64_t group = 0; group < c_ / 8; ++group) {
        for (int64_t tile = 0; tile < count; ++tile) {
          const auto place = tiles.at(first + tile);
          float* to = s.v + (group * count + tile) * 8;
          tiles.read<kInput>(x + tiles.plane(place.image, c_, group), place.y - 1,
                             place.x - 1, [&](const float* d, Strides strides) {
                               transform2d<Input>(d, strides, to, points(s.v_point));
                             });
        }
      }
#pragma omp for collapse(2)
      for (int64_t group = 0; group < k_ / 8; ++group) {
        for (int64_t tile = 0; tile < count; ++tile) {
          const auto place = tiles.at(first + tile);
          float* to = s.m + (group / 2 * count + tile) * 16 + group % 2 * 8;
          tiles.read<kTile>(dy + tiles.plane(place.image, k_, group), place.y, place.x,
                            [&](const float* d, Strides strides) {
                              transform2d<OutputGradient>(d, strides, to,
                                                          points(s.m_point));
                            });
        }
      }
#pragma omp for collapse(2)
      for (int p = 0; p < kPoints; ++p) {
        for (int64_t panel = 0; panel < k_ / 16; ++panel) {
          const float* v = s.v + p * s.v_point;
          const float* m = s.m + p * s.m_point + panel * count * 16;
          float* u = s.u + p * s.u_point + panel * c_ * 16;
          for (int64_t c = 0; c < c_; c += 4) {
            multiply_over_tiles(v + c / 8 * count * 8 + c % 8, m, count, u + c * 16,
                                first == 0);
          }
        }
      }
    }
    gather_filters(s.u, s.u_point, c_, k_, dweight);
    if (dbias) sum_over_pixels(dy, dbias);
  }
}

}  // namespace lockstep::cpu

// Batch normalisation of N×H×W×C images, seen as M rows of C channels; the formulas are
// in reference/normalization.cpp and reference/shared_normalization.cpp.
//
// A *column kernel* is a struct with `column` (a column's data, the same for all rows),
// `load` (reads element i, row · columns + column) and an operator that processes what
// was loaded: the machine loads several elements before it processes the first, since
// a GPU's memory is slow to answer but answers many requests at once. A *column sum*
// has `Sum` and `add` (adds element i to a sum) in place of the operator, `join`
// (joins two sums) and `finish` (receives a column's total); the machine adds each
// column's rows in a fixed order. A column may be N adjacent channels.
#pragma once

#include <cmath>

#include "engine/backends/cuda/kernels/elementwise.h"

namespace lockstep::cuda {

template <int N>
struct alignas(N > 1 ? 16 : 8) TwoSums {
  float a[N], b[N];  // no initialisers: shared memory runs no constructors
};
template <int N>
LOCKSTEP_BOTH void join_two(TwoSums<N>& sum, const TwoSums<N>& other) {
  for (int j = 0; j < N; ++j) {
    sum.a[j] += other.a[j];
    sum.b[j] += other.b[j];
  }
}

/// A batch norm's running statistics.
struct Running {
  float *mean, *var;
  int64_t* count;  ///< null if not counted
  float momentum;
};

LOCKSTEP_BOTH inline void update_running(const Running& r, Index c, float mean,
                                         float var, float n) {
  r.mean[c] = (1 - r.momentum) * r.mean[c] + r.momentum * mean;
  r.var[c] = (1 - r.momentum) * r.var[c] + r.momentum * var * n / (n - 1);
  if (c == 0 && r.count) ++*r.count;
}

/// Computes mean and biased variance from Σ(x − k) and Σ(x − k)², where k is the first
/// element of the channel, so that a mean far from 0 does not cause cancellation.
/// Source: Chan, Golub & LeVeque, Algorithms for computing the sample variance, 1983.
template <class T, int N>
struct BatchStatistics {
  using Sum = TwoSums<N>;
  const T* x;
  float rows;
  float *mean, *var;
  float* row_count;  ///< receives the number of rows, unless null
  Running running;   ///< not updated if `mean` is null

  using Column = Pack<T, N>;  ///< the channels' first elements
  LOCKSTEP_BOTH Column column(Index c) const { return packs<N>(x)[c]; }
  LOCKSTEP_BOTH Pack<T, N> load(Index i) const { return packs<N>(x)[i]; }
  LOCKSTEP_BOTH void add(Sum& sum, const Column& first, const Pack<T, N>& in,
                         Index) const {
    for (int j = 0; j < N; ++j) {
      const float d = float(in.at[j]) - float(first.at[j]);
      sum.a[j] += d;
      sum.b[j] += d * d;
    }
  }
  LOCKSTEP_BOTH void join(Sum& sum, const Sum& other) const { join_two(sum, other); }
  LOCKSTEP_BOTH void finish(Index c, const Sum& sum) const {
    for (int j = 0; j < N; ++j) {
      const Index channel = c * N + j;
      const float shift = sum.a[j] / rows, v = sum.b[j] / rows - shift * shift;
      mean[channel] = float(x[channel]) + shift;
      var[channel] = v > 0 ? v : 0;
      if (channel == 0 && row_count) *row_count = rows;
      if (running.mean) {
        update_running(running, channel, mean[channel], var[channel], rows);
      }
    }
  }
};

/// y = (x − mean) / √(var + eps) · gamma + beta, then an optional ReLU. Stores its mask
/// if requested. Processes N channels at once, loading their values once for many rows.
template <class T, int N>
struct Normalize {
  const T* x;
  const float *gamma, *beta, *mean, *var;
  T* y;
  uint8_t* mask;  ///< null if not requested
  float eps;
  bool relu;

  struct Column {
    float scale[N], mean[N], beta[N];
  };
  LOCKSTEP_BOTH Column column(Index c) const {
    Column channels;
    for (int j = 0; j < N; ++j) {
      channels.scale[j] = gamma[c * N + j] / sqrtf(var[c * N + j] + eps);
      channels.mean[j] = mean[c * N + j];
      channels.beta[j] = beta[c * N + j];
    }
    return channels;
  }
  LOCKSTEP_BOTH Pack<T, N> load(Index i) const { return packs<N>(x)[i]; }
  LOCKSTEP_BOTH float normalized(const Column& channels, T in, int j) const {
    return (float(in) - channels.mean[j]) * channels.scale[j] + channels.beta[j];
  }
  LOCKSTEP_BOTH void operator()(const Column& channels, const Pack<T, N>& in,
                                Index i) const {
    Pack<T, N> out;
    Pack<uint8_t, N> positive;
    for (int j = 0; j < N; ++j) {
      const float value = normalized(channels, in.at[j], j);
      positive.at[j] = value > 0;
      out.at[j] = T(relu && value < 0 ? 0 : value);
    }
    packs<N>(y)[i] = out;
    if (mask) packs<N>(mask)[i] = positive;
  }
};

/// The same, then adds z, before the ReLU: the end of a residual block. The ReLU's
/// gradient is that of the sum, so no mask is stored.
template <class T, int N>
struct NormalizeAndAdd : Normalize<T, N> {
  const T* z;

  struct Loaded {
    Pack<T, N> x, z;
  };
  LOCKSTEP_BOTH Loaded load(Index i) const {
    return {packs<N>(this->x)[i], packs<N>(z)[i]};
  }
  LOCKSTEP_BOTH void operator()(const typename Normalize<T, N>::Column& channels,
                                const Loaded& in, Index i) const {
    Pack<T, N> out;
    for (int j = 0; j < N; ++j) {
      // Rounded as if it had been stored.
      const T value = T(this->normalized(channels, in.x.at[j], j));
      const float sum = float(value) + float(in.z.at[j]);
      out.at[j] = T(this->relu && sum < 0 ? 0 : sum);
    }
    packs<N>(this->y)[i] = out;
  }
};

/// An element of an image, its gradient, and the mask of a fused ReLU.
template <class T, int N>
struct MaskedGradient {
  Pack<T, N> x, dy;
  Pack<uint8_t, N> positive;
};

/// Computes dβ = Σ dy and Σ dy (x − mean), from which dγ follows.
template <class T, int N>
struct GradientSums {
  using Sum = TwoSums<N>;
  const T *x, *dy;
  const uint8_t* mask;  ///< of a fused ReLU; null if none
  const float *mean, *var;
  float eps;
  float *dgamma, *dbeta;
  float *sum_dy, *sum_dy_x;  ///< null if not requested

  using Column = Pack<float, N>;  ///< the channels' means
  LOCKSTEP_BOTH Column column(Index c) const {
    Column means;
    for (int j = 0; j < N; ++j) means.at[j] = mean[c * N + j];
    return means;
  }
  LOCKSTEP_BOTH MaskedGradient<T, N> load(Index i) const {
    MaskedGradient<T, N> in{packs<N>(x)[i], packs<N>(dy)[i], {}};
    if (mask) in.positive = packs<N>(mask)[i];
    return in;
  }
  LOCKSTEP_BOTH void add(Sum& sum, const Column& means, const MaskedGradient<T, N>& in,
                         Index) const {
    for (int j = 0; j < N; ++j) {
      const float g = mask && !in.positive.at[j] ? 0.0f : float(in.dy.at[j]);
      sum.a[j] += g;
      sum.b[j] += g * (float(in.x.at[j]) - means.at[j]);
    }
  }
  LOCKSTEP_BOTH void join(Sum& sum, const Sum& other) const { join_two(sum, other); }
  LOCKSTEP_BOTH void finish(Index c, const Sum& sum) const {
    for (int j = 0; j < N; ++j) {
      const Index channel = c * N + j;
      dbeta[channel] = sum.a[j];
      dgamma[channel] = sum.b[j] / sqrtf(var[channel] + eps);
      if (sum_dy) sum_dy[channel] = sum.a[j];
      if (sum_dy_x) sum_dy_x[channel] = sum.b[j];
    }
  }
};

/// The same where dy is the sum of two gradients, possibly through a ReLU before it, as
/// in `Add`. Stores dy.
template <class T, int N>
struct SumAndGradientSums : GradientSums<T, N> {
  using Base = GradientSums<T, N>;
  using typename Base::Column;
  using typename Base::Sum;
  Add<T, N> addition;  ///< its y is dy

  struct Loaded {
    typename Add<T, N>::Loaded summands;
    Pack<T, N> x;
    Pack<uint8_t, N> positive;
  };
  LOCKSTEP_BOTH Loaded load(Index i) const {
    Loaded in{addition.load(i), packs<N>(this->x)[i], {}};
    if (this->mask) in.positive = packs<N>(this->mask)[i];
    return in;
  }
  LOCKSTEP_BOTH void add(Sum& sum, const Column& means, const Loaded& in,
                         Index i) const {
    const Pack<T, N> dy = addition.sums(in.summands);
    packs<N>(addition.y)[i] = dy;
    Base::add(sum, means, {in.x, dy, in.positive}, i);
  }
};

/// dx = γ / σ · (dy − dβ / n − x̂ dγ / n); with constant statistics, γ / σ · dy.
/// Processes N channels at once.
template <class T, int N>
struct NormalizeBackward {
  const T *x, *dy;
  const uint8_t* mask;
  const float *gamma, *mean, *var, *dgamma, *dbeta;
  T* dx;
  float eps, count;  ///< `count` is 0 if the statistics are constant

  struct Column {
    float scale[N], mean[N], mean_dy[N], slope[N];
  };
  LOCKSTEP_BOTH Column column(Index c) const {
    Column channels;
    for (int j = 0; j < N; ++j) {
      const float inverse = 1 / sqrtf(var[c * N + j] + eps);
      channels.scale[j] = gamma[c * N + j] * inverse;
      channels.mean[j] = mean[c * N + j];
      channels.mean_dy[j] = dbeta[c * N + j] / count;
      channels.slope[j] = inverse * dgamma[c * N + j] / count;
    }
    return channels;
  }
  LOCKSTEP_BOTH MaskedGradient<T, N> load(Index i) const {
    MaskedGradient<T, N> in{{}, packs<N>(dy)[i], {}};
    if (count > 0) in.x = packs<N>(x)[i];
    if (mask) in.positive = packs<N>(mask)[i];
    return in;
  }
  LOCKSTEP_BOTH void operator()(const Column& channels, const MaskedGradient<T, N>& in,
                                Index i) const {
    Pack<T, N> out;
    for (int j = 0; j < N; ++j) {
      float g = mask && !in.positive.at[j] ? 0.0f : float(in.dy.at[j]);
      if (count > 0) {
        g -= channels.mean_dy[j] +
             (float(in.x.at[j]) - channels.mean[j]) * channels.slope[j];
      }
      out.at[j] = T(channels.scale[j] * g);
    }
    packs<N>(dx)[i] = out;
  }
};

/// The same, with sums and element count reduced over all devices
/// (batch_norm_backward_elemt).
template <class T>
struct SharedNormalizeBackward {
  const T *x, *dy;
  const float *gamma, *mean, *var, *sum_dy, *sum_dy_x, *count;
  T* dx;
  Index channels;
  float eps;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const Index c = i % channels;
    const float v = var[c] + eps, n = *count;
    const float through = sum_dy[c] / n + (float(x[i]) - mean[c]) * sum_dy_x[c] / n / v;
    dx[i] = T(gamma[c] / sqrtf(v) * (float(dy[i]) - through));
  }
};

/// Combines the statistics of several devices per channel. Source: Chan, Golub &
/// LeVeque, Updating Formulae, 1979.
struct GatherStatistics {
  const float* all;  ///< a row of 2C + 1 values per device
  Index devices, channels;
  float *mean, *var, *count;
  LOCKSTEP_BOTH void operator()(Index c) const {
    double m = 0, squares = 0, n = 0;
    for (Index d = 0; d < devices; ++d) {
      const float* row = all + d * (2 * channels + 1);
      const double part = row[2 * channels], together = n + part;
      const double delta = row[c] - m;
      m += delta * part / together;
      squares += row[channels + c] * part + delta * delta * n * part / together;
      n = together;
    }
    mean[c] = float(m);
    var[c] = float(squares / n);
    if (c == 0) *count = float(n);
  }
};

struct UpdateRunning {
  const float *mean, *var, *count;
  Running running;
  LOCKSTEP_BOTH void operator()(Index c) const {
    update_running(running, c, mean[c], var[c], *count);
  }
};

}  // namespace lockstep::cuda

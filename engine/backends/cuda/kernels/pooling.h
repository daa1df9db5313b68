// Pooling of N×H×W×C images. In the backward pass, every input pixel gathers from the
// windows that cover it: no two threads write the same element, so the order of sums is
// fixed.
#pragma once

#include "engine/backends/cuda/kernels/element.h"

namespace lockstep::cuda {

struct Windows {
  int height, width, out_height, out_width;  ///< of the large and the small image
  int kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x;
  bool adaptive;  ///< windows cover the image evenly; the line above is unused
};

/// The extent of a window along one axis, clipped to the image; `full` includes
/// padding, as PyTorch's divisor does.
struct Span {
  int begin, end, full;
};

LOCKSTEP_BOTH inline Span span_of(int o, int size, int outputs, int kernel, int stride,
                                  int padding, bool adaptive) {
  if (adaptive) {
    if (outputs == 1) return {0, size, size};  // no slow divisions
    const int begin = int(int64_t(o) * size / outputs);
    const int end = int((int64_t(o + 1) * size + outputs - 1) / outputs);
    return {begin, end, end - begin};
  }
  const int begin = o * stride - padding;
  const int end = begin + kernel < size + padding ? begin + kernel : size + padding;
  return {begin > 0 ? begin : 0, end < size ? end : size, end - begin};
}

LOCKSTEP_BOTH inline Span rows(const Windows& w, int oy) {
  return span_of(oy, w.height, w.out_height, w.kernel_y, w.stride_y, w.padding_y,
                 w.adaptive);
}
LOCKSTEP_BOTH inline Span columns(const Windows& w, int ox) {
  return span_of(ox, w.width, w.out_width, w.kernel_x, w.stride_x, w.padding_x,
                 w.adaptive);
}

/// Returns the outputs whose windows contain pixel `i`: begin to end − 1.
LOCKSTEP_BOTH inline Span covering(int i, int size, int outputs, int kernel, int stride,
                                   int padding, bool adaptive) {
  if (adaptive) {
    if (outputs == 1) return {0, 1, 0};
    const int begin = int(int64_t(i) * outputs / size);
    int end = int((int64_t(i + 1) * outputs + size - 1) / size);
    return {begin, end < outputs ? end : outputs, 0};
  }
  const int first = i + padding - kernel;  // windows that start at or before it miss i
  const int begin = first < 0 ? 0 : first / stride + 1;
  const int end = (i + padding) / stride + 1;
  return {begin, end < outputs ? end : outputs, 0};
}

/// Coordinates of an element of an N×H×W×C tensor.
struct Place {
  Index n;
  int y, x;
  Index c;
  LOCKSTEP_BOTH Place(Index i, int height, int width, Index channels) {
    c = i % channels;
    i /= channels;
    x = int(i % Index(width));
    i /= Index(width);
    y = int(i % Index(height));
    n = i / Index(height);
  }
};

LOCKSTEP_BOTH inline Index at(const Place& p, int y, int x, int height, int width,
                              Index channels) {
  return ((p.n * Index(height) + Index(y)) * Index(width) + Index(x)) * channels + p.c;
}

/// A thread computes N neighbouring channels of a pixel, whose windows are the same: it
/// divides and compares coordinates once for all of them. `channels` counts such packs.
/// `position` is the maximum's offset in its window: row · kernel width + column.
template <class T, int N>
struct MaxPool {
  const T* x;
  T* y;
  uint8_t* position;
  Windows w;
  Index channels;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const Place p(i, w.out_height, w.out_width, channels);
    const int top = p.y * w.stride_y - w.padding_y,
              left = p.x * w.stride_x - w.padding_x;
    Pack<T, N> best{};
    Pack<uint8_t, N> where{};
    bool first = true;
    for (int ky = 0; ky < w.kernel_y; ++ky) {
      for (int kx = 0; kx < w.kernel_x; ++kx) {
        const int iy = top + ky, ix = left + kx;
        if (iy < 0 || iy >= w.height || ix < 0 || ix >= w.width) continue;
        const Pack<T, N> values =
            packs<N>(x)[at(p, iy, ix, w.height, w.width, channels)];
        for (int k = 0; k < N; ++k) {
          const float value = float(values.at[k]);
          // Propagates NaN.
          if (first || value > float(best.at[k]) || value != value) {
            best.at[k] = values.at[k];
            where.at[k] = uint8_t(ky * w.kernel_x + kx);
          }
        }
        first = false;
      }
    }
    packs<N>(y)[i] = best;
    packs<N>(position)[i] = where;
  }
};

template <class T, int N>
struct MaxPoolBackward {
  const T* dy;
  const uint8_t* position;
  T* dx;
  Windows w;
  Index channels;  ///< packs, as above
  LOCKSTEP_BOTH void operator()(Index i) const {
    const Place p(i, w.height, w.width, channels);
    const Span oys = covering(p.y, w.height, w.out_height, w.kernel_y, w.stride_y,
                              w.padding_y, false);
    const Span oxs =
        covering(p.x, w.width, w.out_width, w.kernel_x, w.stride_x, w.padding_x, false);
    float sums[N] = {};
    for (int oy = oys.begin; oy < oys.end; ++oy) {
      for (int ox = oxs.begin; ox < oxs.end; ++ox) {
        const Index o = at(p, oy, ox, w.out_height, w.out_width, channels);
        const int ky = p.y - (oy * w.stride_y - w.padding_y);
        const int kx = p.x - (ox * w.stride_x - w.padding_x);
        const Pack<uint8_t, N> where = packs<N>(position)[o];
        const Pack<T, N> values = packs<N>(dy)[o];
        for (int k = 0; k < N; ++k) {
          if (where.at[k] == ky * w.kernel_x + kx) sums[k] += float(values.at[k]);
        }
      }
    }
    Pack<T, N> result;
    for (int k = 0; k < N; ++k) result.at[k] = T(sums[k]);
    packs<N>(dx)[i] = result;
  }
};

template <class T>
struct AveragePool {
  const T* x;
  T* y;
  Windows w;
  Index channels;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const Place p(i, w.out_height, w.out_width, channels);
    const Span ys = rows(w, p.y), xs = columns(w, p.x);
    float sum = 0;
    for (int iy = ys.begin; iy < ys.end; ++iy) {
      for (int ix = xs.begin; ix < xs.end; ++ix) {
        sum += float(x[at(p, iy, ix, w.height, w.width, channels)]);
      }
    }
    y[i] = T(sum / float(ys.full * xs.full));
  }
};

template <class T>
struct AveragePoolBackward {
  const T* dy;
  T* dx;
  Windows w;
  Index channels;
  LOCKSTEP_BOTH void operator()(Index i) const {
    const Place p(i, w.height, w.width, channels);
    const Span oys = covering(p.y, w.height, w.out_height, w.kernel_y, w.stride_y,
                              w.padding_y, w.adaptive);
    const Span oxs = covering(p.x, w.width, w.out_width, w.kernel_x, w.stride_x,
                              w.padding_x, w.adaptive);
    float sum = 0;
    for (int oy = oys.begin; oy < oys.end; ++oy) {
      for (int ox = oxs.begin; ox < oxs.end; ++ox) {
        const float share = float(rows(w, oy).full * columns(w, ox).full);
        sum += float(dy[at(p, oy, ox, w.out_height, w.out_width, channels)]) / share;
      }
    }
    dx[i] = T(sum);
  }
};

}  // namespace lockstep::cuda

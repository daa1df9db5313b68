// Pooling over windows of each N×C plane.
#include <algorithm>
#include <limits>
#include <vector>

#include "engine/backends/reference/reference_backend.h"

namespace lockstep::reference {
namespace {

/// A window, clipped to the input.
struct Window {
  int64_t y0, y1, x0, x1, divisor;
};

Window fixed_window(const Attributes& a, int64_t H, int64_t W, int64_t oy, int64_t ox) {
  const int64_t y = oy * a.stride[0] - a.padding[0];
  const int64_t x = ox * a.stride[1] - a.padding[1];
  // PyTorch's divisor includes padding, but nothing beyond it.
  const int64_t y_end = std::min(y + a.kernel[0], H + a.padding[0]);
  const int64_t x_end = std::min(x + a.kernel[1], W + a.padding[1]);
  return {std::max<int64_t>(y, 0), std::min(y_end, H), std::max<int64_t>(x, 0),
          std::min(x_end, W), (y_end - y) * (x_end - x)};
}

/// Returns a window; window o of `out` covers [⌊o·in/out⌋, ⌈(o+1)·in/out⌉) of `in`.
Window adaptive_window(int64_t H, int64_t W, int64_t OH, int64_t OW, int64_t oy,
                       int64_t ox) {
  auto begin = [](int64_t o, int64_t in, int64_t out) { return o * in / out; };
  auto end = [](int64_t o, int64_t in, int64_t out) {
    return ((o + 1) * in + out - 1) / out;
  };
  const Window w{begin(oy, H, OH), end(oy, H, OH), begin(ox, W, OW), end(ox, W, OW), 0};
  return {w.y0, w.y1, w.x0, w.x1, (w.y1 - w.y0) * (w.x1 - w.x0)};
}

/// Calls visit(plane offset in large, index in small, window) for every pooled element.
template <typename Visit>
void for_each_window(const Shape& large, const Shape& small, const Attributes& a,
                     bool adaptive, Visit visit) {
  const int64_t H = large[2], W = large[3], OH = small[2], OW = small[3];
  std::vector<Window> windows;  // identical for all planes
  for (int64_t oy = 0; oy < OH; ++oy) {
    for (int64_t ox = 0; ox < OW; ++ox) {
      windows.push_back(adaptive ? adaptive_window(H, W, OH, OW, oy, ox)
                                 : fixed_window(a, H, W, oy, ox));
    }
  }
  int64_t i = 0;
  for (int64_t plane = 0; plane < large[0] * large[1]; ++plane) {
    for (const Window& window : windows) visit(plane * H * W, i++, window);
  }
}

template <typename T>
void max_forward(const KernelArgs& args, const Attributes& a) {
  const View &x = args.in[0], &y = args.out[0];
  int64_t* positions = args.out[1].as<int64_t>();
  for_each_window(x.sizes, y.sizes, a, false,
                  [&](int64_t plane, int64_t out, const Window& w) {
                    T best = -std::numeric_limits<T>::infinity();
                    int64_t where = plane + w.y0 * x.sizes[3] + w.x0;
                    for (int64_t iy = w.y0; iy < w.y1; ++iy) {
                      for (int64_t ix = w.x0; ix < w.x1; ++ix) {
                        const int64_t i = plane + iy * x.sizes[3] + ix;
                        const T value = x.as<T>()[i];
                        if (value > best || value != value)
                          best = value, where = i;  // NaN propagates
                      }
                    }
                    y.as<T>()[out] = best;
                    positions[out] = where;
                  });
}

template <typename T>
void max_backward(const KernelArgs& args) {
  const View &dy = args.in[0], &positions = args.in[1], &dx = args.out[0];
  std::fill_n(dx.as<T>(), dx.numel(), T(0));
  for (int64_t i = 0; i < dy.numel(); ++i) {
    dx.as<T>()[positions.as<int64_t>()[i]] += dy.as<T>()[i];
  }
}

template <typename T>
void average_forward(const KernelArgs& args, const Attributes& a, bool adaptive) {
  const View &x = args.in[0], &y = args.out[0];
  for_each_window(x.sizes, y.sizes, a, adaptive,
                  [&](int64_t plane, int64_t out, const Window& w) {
                    T sum = 0;
                    for (int64_t iy = w.y0; iy < w.y1; ++iy) {
                      for (int64_t ix = w.x0; ix < w.x1; ++ix) {
                        sum += x.as<T>()[plane + iy * x.sizes[3] + ix];
                      }
                    }
                    y.as<T>()[out] = sum / static_cast<T>(w.divisor);
                  });
}

template <typename T>
void average_backward(const KernelArgs& args, const Attributes& a, bool adaptive) {
  const View &dy = args.in[0], &dx = args.out[0];
  std::fill_n(dx.as<T>(), dx.numel(), T(0));
  for_each_window(dx.sizes, dy.sizes, a, adaptive,
                  [&](int64_t plane, int64_t out, const Window& w) {
                    const T share = dy.as<T>()[out] / static_cast<T>(w.divisor);
                    for (int64_t iy = w.y0; iy < w.y1; ++iy) {
                      for (int64_t ix = w.x0; ix < w.x1; ++ix) {
                        dx.as<T>()[plane + iy * dx.sizes[3] + ix] += share;
                      }
                    }
                  });
}

}  // namespace

template <typename T>
Kernel pooling(const PlanRequest& request) {
  const Attributes a = request.attributes;
  switch (request.code) {
    case OpCode::max_pool2d:
      return [a](const KernelArgs& args) { max_forward<T>(args, a); };
    case OpCode::max_pool2d_backward:
      return [](const KernelArgs& args) { max_backward<T>(args); };
    case OpCode::avg_pool2d:
    case OpCode::adaptive_avg_pool2d: {
      const bool adaptive = request.code == OpCode::adaptive_avg_pool2d;
      return [=](const KernelArgs& args) { average_forward<T>(args, a, adaptive); };
    }
    default: {
      const bool adaptive = request.code == OpCode::adaptive_avg_pool2d_backward;
      return [=](const KernelArgs& args) { average_backward<T>(args, a, adaptive); };
    }
  }
}

template Kernel pooling<float>(const PlanRequest&);
template Kernel pooling<double>(const PlanRequest&);

}  // namespace lockstep::reference

// Convolution as seven loops. The innermost runs along image rows so that the compiler
// can vectorise it; nothing else is done for speed.
#include <algorithm>

#include "engine/backends/reference/reference_backend.h"

namespace lockstep::reference {
namespace {

/// Sizes and the walk over (output row, kernel tap) pairs that all three directions
/// share: y[oy, ox] touches x[oy·s − p + ky, ox·s − p + kx].
struct Geometry {
  int64_t N, C, H, W, O, OH, OW, KH, KW, sy, sx, py, px;

  Geometry(const Shape& x, const Shape& w, const Shape& y, const Attributes& a)
      : N(x[0]), C(x[1]), H(x[2]), W(x[3]), O(w[0]), OH(y[2]), OW(y[3]), KH(w[2]),
        KW(w[3]), sy(a.stride[0]), sx(a.stride[1]), py(a.padding[0]),
        px(a.padding[1]) {}

  /// Calls row(o, c, ky, kx, y row offset, x row offset, first ox, last ox + 1).
  template <typename Row>
  void for_each_row(Row row) const {
    for (int64_t n = 0; n < N; ++n)
      for (int64_t o = 0; o < O; ++o)
        for (int64_t c = 0; c < C; ++c)
          for (int64_t ky = 0; ky < KH; ++ky)
            for (int64_t kx = 0; kx < KW; ++kx) {
              const int64_t first = px > kx ? (px - kx + sx - 1) / sx : 0;
              const int64_t reach = W - 1 + px - kx;  // ox·s may go so far
              const int64_t last = reach < 0 ? 0 : std::min(OW, reach / sx + 1);
              for (int64_t oy = 0; oy < OH; ++oy) {
                const int64_t iy = oy * sy - py + ky;
                if (iy < 0 || iy >= H) continue;
                row(o, c, ky, kx, ((n * O + o) * OH + oy) * OW,
                    ((n * C + c) * H + iy) * W - px + kx, first, last);
              }
            }
  }
};

}  // namespace

template <typename T>
Kernel convolution(const PlanRequest& request) {
  const Attributes a = request.attributes;
  if (request.code == OpCode::conv2d) {
    return [a](const KernelArgs& args) {
      const View &x = args.in[0], &w = args.in[1], &b = args.in[2], &y = args.out[0];
      const Geometry g(x.sizes, w.sizes, y.sizes, a);
      const int64_t plane = g.OH * g.OW;
      for (int64_t i = 0; i < g.N * g.O; ++i) {
        const T bias = b.data ? b.as<T>()[i % g.O] : T(0);
        std::fill_n(y.as<T>() + i * plane, plane, bias);
      }
      g.for_each_row([&](int64_t o, int64_t c, int64_t ky, int64_t kx, int64_t y_row,
                         int64_t x_row, int64_t first, int64_t last) {
        const T weight = w.as<T>()[((o * g.C + c) * g.KH + ky) * g.KW + kx];
        T* __restrict out = y.as<T>() + y_row;
        const T* __restrict in = x.as<T>() + x_row;
        for (int64_t ox = first; ox < last; ++ox) out[ox] += weight * in[ox * g.sx];
      });
    };
  }
  if (request.code == OpCode::conv2d_backward_data) {
    return [a](const KernelArgs& args) {
      const View &dy = args.in[0], &w = args.in[1], &dx = args.out[0];
      const Geometry g(dx.sizes, w.sizes, dy.sizes, a);
      std::fill_n(dx.as<T>(), dx.numel(), T(0));
      g.for_each_row([&](int64_t o, int64_t c, int64_t ky, int64_t kx, int64_t y_row,
                         int64_t x_row, int64_t first, int64_t last) {
        const T weight = w.as<T>()[((o * g.C + c) * g.KH + ky) * g.KW + kx];
        const T* __restrict out = dy.as<T>() + y_row;
        T* __restrict in = dx.as<T>() + x_row;
        for (int64_t ox = first; ox < last; ++ox) in[ox * g.sx] += weight * out[ox];
      });
    };
  }
  return [a](const KernelArgs& args) {
    const View &x = args.in[0], &dy = args.in[1], &dw = args.out[0];
    const Geometry g(x.sizes, dw.sizes, dy.sizes, a);
    std::fill_n(dw.as<T>(), dw.numel(), T(0));
    g.for_each_row([&](int64_t o, int64_t c, int64_t ky, int64_t kx, int64_t y_row,
                       int64_t x_row, int64_t first, int64_t last) {
      const T* __restrict out = dy.as<T>() + y_row;
      const T* __restrict in = x.as<T>() + x_row;
      T sum = 0;
      for (int64_t ox = first; ox < last; ++ox) sum += out[ox] * in[ox * g.sx];
      dw.as<T>()[((o * g.C + c) * g.KH + ky) * g.KW + kx] += sum;
    });
    if (args.out.size() < 2) return;
    const int64_t plane = g.OH * g.OW;
    T* db = args.out[1].as<T>();
    std::fill_n(db, g.O, T(0));
    for (int64_t i = 0; i < g.N * g.O * plane; ++i) {
      db[i / plane % g.O] += dy.as<T>()[i];
    }
  };
}

template Kernel convolution<float>(const PlanRequest&);
template Kernel convolution<double>(const PlanRequest&);

}  // namespace lockstep::reference

// Convolution in all three directions.
//
// Output pixel p and input pixel q meet at kernel tap k if q = p · stride − padding +
// k. Each such meeting contributes, for all pairs of channels (c of x, o of y):
//
//   forward           y[p, o]     += x[q, c]  · w[k, c, o]
//   backward data     dx[q, c]    += dy[p, o] · w[k, o, c]
//   backward weight   dw[k, c, o] += x[q, c]  · dy[p, o]
//
// Tensors are first transposed so that channels are contiguous: the innermost loop is
// then long and the compiler can vectorise it. Nothing else is optimised.
#include <algorithm>
#include <vector>

#include "engine/backends/reference/reference_backend.h"

namespace lockstep::reference {
namespace {

/// Computes out[a, c, b] = in[a, b, c] for sizes a × b × c.
template <typename T>
std::vector<T> swap_last_two(const T* in, int64_t a, int64_t b, int64_t c) {
  std::vector<T> out(a * b * c);
  for (int64_t i = 0; i < a; ++i)
    for (int64_t j = 0; j < b; ++j)
      for (int64_t k = 0; k < c; ++k)
        out[(i * c + k) * b + j] = in[(i * b + j) * c + k];
  return out;
}

/// Converts between N×C×H×W and channels last.
template <typename T>
std::vector<T> channels_last(const View& v) {
  return swap_last_two(v.as<T>(), v.sizes[0], v.sizes[1], v.sizes[2] * v.sizes[3]);
}
template <typename T>
void channels_first(const std::vector<T>& in, const View& v) {
  const auto out =
      swap_last_two(in.data(), v.sizes[0], v.sizes[2] * v.sizes[3], v.sizes[1]);
  std::copy(out.begin(), out.end(), v.as<T>());
}

/// Converts O×C×kH×kW to k×C×O, where k = kH · kW taps.
template <typename T>
std::vector<T> taps_c_o(const View& w) {
  const int64_t taps = w.sizes[2] * w.sizes[3];
  const auto o_k_c = swap_last_two(w.as<T>(), w.sizes[0], w.sizes[1], taps);
  return swap_last_two(o_k_c.data(), 1, w.sizes[0], taps * w.sizes[1]);
}

/// y[i] += a · x[i]
template <typename T>
void add_scaled(T* __restrict y, T a, const T* __restrict x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

/// Calls meet(p, q, k) for all pixels p of y and q of x that meet at a tap k.
template <typename Meet>
void for_each_meeting(const Shape& x, const Shape& w, const Shape& y,
                      const Attributes& a, Meet meet) {
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t oy = 0; oy < y[2]; ++oy)
      for (int64_t ox = 0; ox < y[3]; ++ox)
        for (int64_t ky = 0; ky < w[2]; ++ky)
          for (int64_t kx = 0; kx < w[3]; ++kx) {
            const int64_t iy = oy * a.stride[0] - a.padding[0] + ky;
            const int64_t ix = ox * a.stride[1] - a.padding[1] + kx;
            if (iy < 0 || iy >= x[2] || ix < 0 || ix >= x[3]) continue;
            meet((n * y[2] + oy) * y[3] + ox, (n * x[2] + iy) * x[3] + ix,
                 ky * w[3] + kx);
          }
}

template <typename T>
void forward(const KernelArgs& args, const Attributes& a) {
  const View &x = args.in[0], &w = args.in[1], &bias = args.in[2], &y = args.out[0];
  const int64_t C = w.sizes[1], O = w.sizes[0];
  const std::vector<T> xs = channels_last<T>(x), ws = taps_c_o<T>(w);
  std::vector<T> ys(y.numel());
  if (bias.data) {
    for (size_t i = 0; i < ys.size(); ++i) ys[i] = bias.as<T>()[i % O];
  }
  for_each_meeting(x.sizes, w.sizes, y.sizes, a, [&](int64_t p, int64_t q, int64_t k) {
    for (int64_t c = 0; c < C; ++c) {
      add_scaled(&ys[p * O], xs[q * C + c], &ws[(k * C + c) * O], O);
    }
  });
  channels_first(ys, y);
}

template <typename T>
void backward_data(const KernelArgs& args, const Attributes& a) {
  const View &dy = args.in[0], &w = args.in[1], &dx = args.out[0];
  const int64_t C = w.sizes[1], O = w.sizes[0], taps = w.sizes[2] * w.sizes[3];
  const std::vector<T> dys = channels_last<T>(dy);
  const std::vector<T> ws = swap_last_two(taps_c_o<T>(w).data(), taps, C, O);
  std::vector<T> dxs(dx.numel());
  for_each_meeting(dx.sizes, w.sizes, dy.sizes, a,
                   [&](int64_t p, int64_t q, int64_t k) {
                     for (int64_t o = 0; o < O; ++o) {
                       add_scaled(&dxs[q * C], dys[p * O + o], &ws[(k * O + o) * C], C);
                     }
                   });
  channels_first(dxs, dx);
}

template <typename T>
void backward_weight(const KernelArgs& args, const Attributes& a) {
  const View &x = args.in[0], &dy = args.in[1], &dw = args.out[0];
  const int64_t C = dw.sizes[1], O = dw.sizes[0], taps = dw.sizes[2] * dw.sizes[3];
  const std::vector<T> xs = channels_last<T>(x), dys = channels_last<T>(dy);
  std::vector<T> dws(dw.numel());
  for_each_meeting(x.sizes, dw.sizes, dy.sizes, a,
                   [&](int64_t p, int64_t q, int64_t k) {
                     for (int64_t c = 0; c < C; ++c) {
                       add_scaled(&dws[(k * C + c) * O], xs[q * C + c], &dys[p * O], O);
                     }
                   });
  const auto o_k_c = swap_last_two(dws.data(), 1, taps * C, O);
  const auto o_c_k = swap_last_two(o_k_c.data(), O, taps, C);
  std::copy(o_c_k.begin(), o_c_k.end(), dw.as<T>());

  if (args.out.size() < 2) return;
  T* db = args.out[1].as<T>();
  std::fill_n(db, O, T(0));
  for (size_t i = 0; i < dys.size(); ++i) db[i % O] += dys[i];
}

}  // namespace

template <typename T>
Kernel convolution(const PlanRequest& request) {
  const Attributes a = request.attributes;
  switch (request.code) {
    case OpCode::conv2d:
      return [a](const KernelArgs& args) { forward<T>(args, a); };
    case OpCode::conv2d_backward_data:
      return [a](const KernelArgs& args) { backward_data<T>(args, a); };
    default:
      return [a](const KernelArgs& args) { backward_weight<T>(args, a); };
  }
}

template Kernel convolution<float>(const PlanRequest&);
template Kernel convolution<double>(const PlanRequest&);

}  // namespace lockstep::reference

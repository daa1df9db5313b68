// Batch normalisation, per channel c over its M = N·H·W elements:
//   mean = Σx / M,  var = Σ(x − mean)² / M (biased),  x̂ = (x − mean) / √(var + eps)
//   y = γ x̂ + β
//   dβ = Σ dy,  dγ = Σ dy x̂
//   dx = γ / √(var + eps) · (dy − dβ / M − x̂ dγ / M)      (training)
//   dx = γ / √(var + eps) · dy                            (evaluation)
// Source: Ioffe & Szegedy, Batch Normalization, 2015.
#include <cmath>

#include "engine/backends/reference/reference_backend.h"

namespace lockstep::reference {
namespace {

template <typename T>
void batch_norm_forward(const KernelArgs& args, const Attributes& a) {
  const View &x = args.in[0], &y = args.out[0];
  const T *in = x.as<T>(), *gamma = args.in[1].as<T>(), *beta = args.in[2].as<T>();
  T *running_mean = args.in[3].as<T>(), *running_var = args.in[4].as<T>();
  const T M = static_cast<T>(x.numel() / x.sizes[1]);
  for (int64_t c = 0; c < x.sizes[1]; ++c) {
    T sum = 0, squares = 0;
    for_channel(x.sizes, c, [&](int64_t i) { sum += in[i]; });
    const T mean = sum / M;
    for_channel(x.sizes, c,
                [&](int64_t i) { squares += (in[i] - mean) * (in[i] - mean); });
    const T var = squares / M;
    const T scale = gamma[c] / std::sqrt(var + T(a.eps));
    for_channel(x.sizes, c,
                [&](int64_t i) { y.as<T>()[i] = (in[i] - mean) * scale + beta[c]; });
    args.out[1].as<T>()[c] = mean;
    args.out[2].as<T>()[c] = var;
    const T unbiased = squares / (M - 1), m = T(a.momentum);
    running_mean[c] = (1 - m) * running_mean[c] + m * mean;
    running_var[c] = (1 - m) * running_var[c] + m * unbiased;
  }
  if (args.in[5].data) ++*args.in[5].as<int64_t>();
}

template <typename T>
void evaluate(const KernelArgs& args, const Attributes& a) {
  const View &x = args.in[0], &y = args.out[0];
  for (int64_t c = 0; c < x.sizes[1]; ++c) {
    const T mean = args.in[3].as<T>()[c], var = args.in[4].as<T>()[c];
    const T scale = args.in[1].as<T>()[c] / std::sqrt(var + T(a.eps));
    for_channel(x.sizes, c, [&](int64_t i) {
      y.as<T>()[i] = (x.as<T>()[i] - mean) * scale + args.in[2].as<T>()[c];
    });
  }
}

template <typename T>
void batch_norm_backward(const KernelArgs& args, const Attributes& a, bool training) {
  const View &x = args.in[0], &dy = args.in[1], &dx = args.out[0];
  const T M = static_cast<T>(x.numel() / x.sizes[1]);
  for (int64_t c = 0; c < x.sizes[1]; ++c) {
    const T mean = args.in[3].as<T>()[c];
    const T inv_std = 1 / std::sqrt(args.in[4].as<T>()[c] + T(a.eps));
    auto normalized = [&](int64_t i) { return (x.as<T>()[i] - mean) * inv_std; };
    T dgamma = 0, dbeta = 0;
    for_channel(x.sizes, c, [&](int64_t i) {
      dbeta += dy.as<T>()[i];
      dgamma += dy.as<T>()[i] * normalized(i);
    });
    const T scale = args.in[2].as<T>()[c] * inv_std;
    for_channel(x.sizes, c, [&](int64_t i) {
      const T through_statistics =
          training ? dbeta / M + normalized(i) * dgamma / M : T(0);
      dx.as<T>()[i] = scale * (dy.as<T>()[i] - through_statistics);
    });
    args.out[1].as<T>()[c] = dgamma;
    args.out[2].as<T>()[c] = dbeta;
  }
}

}  // namespace

template <typename T>
Kernel normalization(const PlanRequest& request) {
  const Attributes a = request.attributes;
  switch (request.code) {
    case OpCode::batch_norm:
      return [a](const KernelArgs& args) { batch_norm_forward<T>(args, a); };
    case OpCode::batch_norm_eval:
      return [a](const KernelArgs& args) { evaluate<T>(args, a); };
    default: {
      const bool training = request.code == OpCode::batch_norm_backward;
      return [=](const KernelArgs& args) { batch_norm_backward<T>(args, a, training); };
    }
  }
}

template Kernel normalization<float>(const PlanRequest&);
template Kernel normalization<double>(const PlanRequest&);

}  // namespace lockstep::reference

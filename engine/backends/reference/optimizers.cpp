// The optimizers' updates: the formulas of PyTorch's torch/optim as loops.
#include <algorithm>
#include <cmath>

#include "engine/backends/reference/reference_backend.h"

namespace lockstep::reference {
namespace {

/// PyTorch's SGD: d = g + wd·p;  buf = first ? d : momentum·buf + d;  p −= lr·buf, or
/// with nesterov: p −= lr·(d + momentum·buf). Source: torch/optim/sgd.py.
template <typename T>
void sgd(const KernelArgs& args) {
  const T lr = static_cast<T>(args.scalars[0]);
  const T momentum = static_cast<T>(args.scalars[1]);
  const T decay = static_cast<T>(args.scalars[2]);
  const bool first = args.scalars[3] != 0, nesterov = args.scalars[4] != 0;
  for (size_t t = 0; t + 2 < args.in.size(); t += 3) {
    T* __restrict p = args.in[t].as<T>();
    const T* __restrict g = args.in[t + 1].as<T>();
    T* __restrict buffer = args.in[t + 2].as<T>();
    const int64_t n = args.in[t].numel();
    for (int64_t i = 0; i < n; ++i) {
      const T d = g[i] + decay * p[i];
      T moved = d;
      if (momentum != 0 && !first) moved += momentum * buffer[i];
      buffer[i] = moved;
      p[i] -= lr * (nesterov ? d + momentum * moved : moved);
    }
  }
}

/// Returns the `each` tensors of the parameter at argument `at`: the parameter itself,
/// its gradient and its state. If `first`, sets the state to zero.
template <typename T>
std::span<const View> tensors_of(const KernelArgs& args, size_t at, size_t each,
                                 bool first) {
  const std::span<const View> tensors = args.in.subspan(at, each);
  for (size_t s = 2; first && s < each; ++s) {
    std::fill_n(tensors[s].as<T>(), tensors[s].numel(), T(0));
  }
  return tensors;
}

/// PyTorch's Adam: d = g + wd·p;  m = β1·m + (1 − β1)·d;  v = β2·v + (1 − β2)·d²;
/// p = shrink·p − lr/(1 − β1^step) · m / (√v/√(1 − β2^step) + eps). AdamW has wd = 0
/// and shrinks. Source: torch/optim/adam.py.
template <typename T>
void adam(const KernelArgs& args, size_t each) {
  const double *s = args.scalars.data(), step = s[5];
  const T beta1 = T(s[1]), beta2 = T(s[2]), eps = T(s[3]), decay = T(s[4]);
  const T rest1 = T(1 - s[1]), rest2 = T(1 - s[2]), shrink = T(s[6]);
  const T size = T(s[0] / (1 - std::pow(s[1], step)));
  const T root = T(std::sqrt(1 - std::pow(s[2], step)));
  for (size_t t = 0; t + each <= args.in.size(); t += each) {
    const std::span<const View> tensors = tensors_of<T>(args, t, each, step == 1);
    T *p = tensors[0].as<T>(), *m = tensors[2].as<T>(), *v = tensors[3].as<T>();
    const T* g = tensors[1].as<T>();
    T* largest = each > 4 ? tensors[4].as<T>() : nullptr;  // amsgrad
    for (int64_t i = 0; i < tensors[0].numel(); ++i) {
      const T d = g[i] + decay * p[i];
      m[i] = beta1 * m[i] + rest1 * d;
      v[i] = beta2 * v[i] + rest2 * d * d;
      if (largest) largest[i] = std::max(largest[i], v[i]);
      const T square = largest ? largest[i] : v[i];
      p[i] = shrink * p[i] - size * m[i] / (std::sqrt(square) / root + eps);
    }
  }
}

/// PyTorch's RMSprop: d = g + wd·p;  v = α·v + (1 − α)·d²;  centered: a = α·a + (1 −
/// α)·d and v − a² instead of v;  q = d / (√v + eps);  p −= lr·q, or with momentum:
/// buf = momentum·buf + q;  p −= lr·buf. Source: torch/optim/rmsprop.py.
template <typename T>
void rmsprop(const KernelArgs& args, size_t each) {
  const double* s = args.scalars.data();
  const T lr = T(s[0]), alpha = T(s[1]), rest = T(1 - s[1]), eps = T(s[2]);
  const T decay = T(s[3]), momentum = T(s[4]);
  const bool first = s[5] != 0, centered = s[6] != 0;
  for (size_t t = 0; t + each <= args.in.size(); t += each) {
    const std::span<const View> tensors = tensors_of<T>(args, t, each, first);
    T *p = tensors[0].as<T>(), *v = tensors[2].as<T>();
    const T* g = tensors[1].as<T>();
    T* average = centered ? tensors[3].as<T>() : nullptr;
    T* buffer = momentum > 0 ? tensors[each - 1].as<T>() : nullptr;
    for (int64_t i = 0; i < tensors[0].numel(); ++i) {
      const T d = g[i] + decay * p[i];
      v[i] = alpha * v[i] + rest * d * d;
      T square = v[i];
      if (average) {
        average[i] = alpha * average[i] + rest * d;
        square -= average[i] * average[i];
      }
      T quotient = d / (std::sqrt(square) + eps);
      if (buffer) quotient = buffer[i] = momentum * buffer[i] + quotient;
      p[i] -= lr * quotient;
    }
  }
}

}  // namespace

template <typename T>
Kernel optimizer(const PlanRequest& request) {
  const auto each = static_cast<size_t>(request.attributes.k);
  if (request.code == OpCode::sgd) return sgd<T>;
  if (request.code == OpCode::adam) {
    return [each](const KernelArgs& args) { adam<T>(args, each); };
  }
  return [each](const KernelArgs& args) { rmsprop<T>(args, each); };
}

template Kernel optimizer<float>(const PlanRequest&);
template Kernel optimizer<double>(const PlanRequest&);

}  // namespace lockstep::reference

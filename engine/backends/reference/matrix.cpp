// Fully connected layers: y = x wᵀ + b and its gradients.
#include <algorithm>

#include "engine/backends/reference/reference_backend.h"

namespace lockstep::reference {

template <typename T>
Kernel matrix(const PlanRequest& request) {
  if (request.code == OpCode::linear) {
    return [](const KernelArgs& args) {
      const View &x = args.in[0], &w = args.in[1], &b = args.in[2], &y = args.out[0];
      const int64_t N = x.sizes[0], I = x.sizes[1], O = w.sizes[0];
      for (int64_t n = 0; n < N; ++n) {
        for (int64_t o = 0; o < O; ++o) {
          const T *xs = x.as<T>() + n * I, *ws = w.as<T>() + o * I;
          T sum = 0;
          for (int64_t i = 0; i < I; ++i) sum += xs[i] * ws[i];
          y.as<T>()[n * O + o] = sum + (b.data ? b.as<T>()[o] : T(0));
        }
      }
    };
  }
  if (request.code == OpCode::linear_backward_data) {
    return [](const KernelArgs& args) {
      const View &dy = args.in[0], &w = args.in[1], &dx = args.out[0];
      const int64_t N = dy.sizes[0], O = w.sizes[0], I = w.sizes[1];
      std::fill_n(dx.as<T>(), N * I, T(0));
      for (int64_t n = 0; n < N; ++n) {
        for (int64_t o = 0; o < O; ++o) {
          const T g = dy.as<T>()[n * O + o];
          const T* __restrict ws = w.as<T>() + o * I;
          T* __restrict out = dx.as<T>() + n * I;
          for (int64_t i = 0; i < I; ++i) out[i] += g * ws[i];
        }
      }
    };
  }
  return [](const KernelArgs& args) {
    const View &x = args.in[0], &dy = args.in[1], &dw = args.out[0];
    const int64_t N = x.sizes[0], I = x.sizes[1], O = dy.sizes[1];
    std::fill_n(dw.as<T>(), O * I, T(0));
    for (int64_t o = 0; o < O; ++o) {
      T* __restrict out = dw.as<T>() + o * I;
      for (int64_t n = 0; n < N; ++n) {
        const T g = dy.as<T>()[n * O + o];
        const T* __restrict xs = x.as<T>() + n * I;
        for (int64_t i = 0; i < I; ++i) out[i] += g * xs[i];
      }
    }
    if (args.out.size() < 2) return;
    T* db = args.out[1].as<T>();
    std::fill_n(db, O, T(0));
    for (int64_t i = 0; i < N * O; ++i) db[i % O] += dy.as<T>()[i];
  };
}

template Kernel matrix<float>(const PlanRequest&);
template Kernel matrix<double>(const PlanRequest&);

}  // namespace lockstep::reference

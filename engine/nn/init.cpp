#include "engine/nn/init.h"

#include <cmath>
#include <numbers>

#include "engine/tensor/philox.h"

namespace lockstep::nn {
namespace {

/// Converts four uniform samples from (0, 1) into four normal ones (Box–Muller).
void to_normal(float (&u)[4]) {
  for (int i = 0; i < 4; i += 2) {
    const float radius = std::sqrt(-2.0f * std::log(u[i]));
    const float angle = 2.0f * std::numbers::pi_v<float> * u[i + 1];
    u[i] = radius * std::cos(angle);
    u[i + 1] = radius * std::sin(angle);
  }
}

template <typename T>
void fill(T* out, int64_t n, const Init& init, const Philox& random, uint64_t stream) {
  for (int64_t start = 0; start < n; start += 4) {
    const auto words = random.block(start / 4, stream);
    float u[4];
    for (int i = 0; i < 4; ++i) u[i] = (words[i] >> 8) * 0x1p-24f + 0x1p-25f;
    if (init.kind == Init::Kind::normal) to_normal(u);
    for (int i = 0; i < 4 && start + i < n; ++i) {
      const double x = init.kind == Init::Kind::normal ? u[i] : 2 * u[i] - 1;
      out[start + i] = static_cast<T>(x * init.value);
    }
  }
}

}  // namespace

Init Init::kaiming_normal_fan_out(int64_t fan_out) {
  return normal(std::sqrt(2.0 / static_cast<double>(fan_out)));
}

Init Init::default_uniform(int64_t fan_in) {
  return uniform(1 / std::sqrt(static_cast<double>(fan_in)));
}

Construction& construction() {
  thread_local Construction current;
  return current;
}

Tensor initial(const Shape& sizes, const Init& init) {
  Construction& c = construction();
  const TensorSpec spec{sizes, c.dtype, nullptr};
  if (c.skeleton) return Tensor::unset(spec);
  Tensor tensor = Tensor::empty(sizes, kHost, c.dtype);
  const uint64_t stream = c.next_stream++;
  if (!c.fill) return tensor;
  const int64_t n = tensor.numel();
  const Philox random{c.seed};
  if (c.dtype == DType::f64) {
    double* out = tensor.data<double>();
    if (init.kind == Init::Kind::constant)
      std::fill_n(out, n, init.value);
    else
      fill(out, n, init, random, stream);
  } else {
    float* out = tensor.data<float>();
    if (init.kind == Init::Kind::constant)
      std::fill_n(out, n, float(init.value));
    else
      fill(out, n, init, random, stream);
  }
  return tensor;
}

}  // namespace lockstep::nn

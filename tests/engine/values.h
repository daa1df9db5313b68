// Helpers for the engine's tests: tensors on devices and distances between them.
#pragma once

#include <algorithm>
#include <string>

#include "engine/autograd/engine.h"
#include "engine/backends/backend.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"
#include "tests/engine/golden.h"

namespace lockstep::test {

inline constexpr Device kReference{DeviceType::reference, 0};
inline constexpr Device kCpu{DeviceType::cpu, 0};

inline Device reference(int index) { return {DeviceType::reference, index}; }

inline Tensor on(Device device, const Tensor& host) {
  return ops::copy_to(host, device, {"h2d", "test"});
}

/// A leaf tensor that requires a gradient.
inline Tensor leaf(Device device, const Tensor& host) {
  return on(device, host).detach().set_requires_grad(true);
}

/// size · (2u − 1) of a stream, in double.
inline Tensor random(const std::string& stream, const Shape& sizes, double size = 1,
                     double shift = 0) {
  return signed_tensor(stream, sizes, size, DType::f64, shift);
}

/// A one-dimensional host tensor.
inline Tensor vector(const std::vector<double>& values, DType dtype = DType::f64) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())}, dtype);
}

/// Runs backward from `root` with the upstream gradient 2u − 1 of the stream `grad`.
inline void backward_from(const Tensor& root) {
  autograd::backward(
      root, on(root.device(), signed_tensor("grad", root.sizes(), 1, root.dtype())));
}

/// ‖mine − theirs‖ / ‖theirs‖, over the elements.
inline double relative_l2(const Tensor& mine, const Tensor& theirs) {
  const std::vector<double> a = values_of(mine), b = values_of(theirs);
  if (a.size() != b.size()) return INFINITY;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / std::max(norm, 1e-300));
}

/// max |mine − theirs|.
inline double distance(const Tensor& mine, const Tensor& theirs) {
  const std::vector<double> a = values_of(mine), b = values_of(theirs);
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    largest = d <= largest ? largest : d;  // keeps a NaN
  }
  return largest;
}

/// Returns the message of the exception that `action` throws; empty if none.
template <typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

inline int64_t live_bytes(Device device) {
  return runtime::context(device).allocator().live_bytes();
}

}  // namespace lockstep::test

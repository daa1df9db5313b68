// dropout: y = x · mask / (1 − p), where mask is 0 with probability p.
#include <atomic>

#include "engine/ops/checks.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"

namespace lockstep::ops {
namespace {

std::atomic<uint64_t> seed{0};
constexpr int kDevices = 64;
std::atomic<uint64_t> calls[kDevices];  // per device, so that replicas do not race

}  // namespace

void manual_seed(uint64_t value) {
  seed = value;
  for (auto& counter : calls) counter = 0;
}

uint64_t dropout_calls(Device device) { return calls[device.index % kDevices]; }

void set_dropout_calls(Device device, uint64_t count) {
  calls[device.index % kDevices] = count;
}

Tensor dropout(const Tensor& x, double p, bool training, Site site) {
  check_defined("dropout", {{"input", x}});
  check(p >= 0 && p < 1, "dropout probability has to be in [0, 1), but got {}", p);
  if (!training || p == 0) return x;
  OpCall op("aten::dropout", {x}, site);
  const int device = x.device().index;
  const auto call = static_cast<double>(calls[device % kDevices]++ * kDevices + device);
  // Exactly representable as a double, and distinct for all seeds in practical use.
  const auto key = static_cast<double>(seed % (uint64_t{1} << 53));
  Tensors y =
      compute(OpCode::dropout, {x},
              {{x.sizes(), x.dtype(), nullptr}, {x.sizes(), DType::u8, nullptr}}, {},
              {p, key, call});
  autograd::set_history("MulBackward0", {x}, {y[0]}, op.id(),
                        [p, mask = y[1]](Tensors grads) -> Tensors {
                          return {compute_one(OpCode::dropout_backward,
                                              {grads[0], mask}, mask.sizes(), {}, {p})};
                        });
  return y[0];
}

}  // namespace lockstep::ops

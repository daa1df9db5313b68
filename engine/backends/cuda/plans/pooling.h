// Plans for pooling operations.
#pragma once

#include <stdexcept>

#include "engine/backends/cuda/kernels/pooling.h"
#include "engine/backends/cuda/machine.h"

namespace lockstep::cuda {

inline Windows windows_of(const Shape& large, const Shape& small, const Attributes& a,
                          bool adaptive) {
  const auto narrow = [](int64_t value) { return static_cast<int>(value); };
  return {narrow(large[2]),
          narrow(large[3]),
          narrow(small[2]),
          narrow(small[3]),
          narrow(a.kernel[0]),
          narrow(a.kernel[1]),
          narrow(a.stride[0]),
          narrow(a.stride[1]),
          narrow(a.padding[0]),
          narrow(a.padding[1]),
          adaptive};
}

template <class Machine>
PlanPtr plan_max_pool(const PlanRequest& r) {
  const Shape &large = r.in[0].sizes, &small = r.out[0].sizes;
  if (r.attributes.kernel[0] * r.attributes.kernel[1] > 256) {
    throw std::runtime_error("cuda: max_pool2d supports windows of at most 256 pixels");
  }
  const bool bf16 = form_of(r.in[0]).bf16;
  Steps steps("lockstep:max_pool");
  const Ref x = as<Machine>(steps, input(r, 0), large, activation_form(large, bf16));
  const Ref y = output(0, activation_form(small, bf16));
  const Windows w = windows_of(large, small, r.attributes, false);
  const auto n = static_cast<Index>(small.numel());
  steps.add([=, channels = Index(large[1])](const KernelArgs& args) {
    with_element(x.form, [&](auto zero) {
      using T = decltype(zero);
      const T* from = x.in<T>(args);
      T* to = y.in<T>(args);
      auto* where = args.out[1].as<uint8_t>();
      with_packs<T>(channels, {from, to, where}, [&](auto pack) {
        Machine::for_each(n / pack(),
                          MaxPool<T, pack()>{from, to, where, w, channels / pack()});
      });
    });
  });
  return steps.finish(r, {y.form}, {{small, DType::u8, nullptr}});
}

template <class Machine>
PlanPtr plan_max_pool_backward(const PlanRequest& r) {
  const Shape &large = r.out[0].sizes, &small = r.in[0].sizes;
  const bool bf16 = form_of(r.in[0]).bf16;
  Steps steps("lockstep:max_pool_backward");
  const Ref dy = as<Machine>(steps, input(r, 0), small, activation_form(small, bf16));
  const Ref dx = output(0, activation_form(large, bf16));
  const Windows w = windows_of(large, small, r.attributes, false);
  const auto n = static_cast<Index>(large.numel());
  steps.add([=, channels = Index(large[1])](const KernelArgs& args) {
    with_element(dy.form, [&](auto zero) {
      using T = decltype(zero);
      const T* from = dy.in<T>(args);
      T* to = dx.in<T>(args);
      const auto* where = args.in[1].as<uint8_t>();
      with_packs<T>(channels, {from, to, where}, [&](auto pack) {
        Machine::for_each(n / pack(), MaxPoolBackward<T, pack()>{from, where, to, w,
                                                                 channels / pack()});
      });
    });
  });
  return steps.finish(r, {dx.form});
}

template <class Machine>
PlanPtr plan_average_pool(const PlanRequest& r, bool adaptive, bool backward) {
  const Shape& large = backward ? r.out[0].sizes : r.in[0].sizes;
  const Shape& small = backward ? r.in[0].sizes : r.out[0].sizes;
  const bool bf16 = form_of(r.in[0]).bf16;
  Steps steps(backward ? "lockstep:average_pool_backward" : "lockstep:average_pool");
  const Ref from = as<Machine>(steps, input(r, 0), r.in[0].sizes,
                               activation_form(r.in[0].sizes, bf16));
  const Ref to = output(0, activation_form(r.out[0].sizes, bf16));
  const Windows w = windows_of(large, small, r.attributes, adaptive);
  const auto n = static_cast<Index>(r.out[0].sizes.numel());
  steps.add([=, channels = Index(large[1])](const KernelArgs& args) {
    with_element(from.form, [&](auto zero) {
      using T = decltype(zero);
      const T* in = from.in<T>(args);
      T* out = to.in<T>(args);
      if (backward) {
        Machine::for_each(n, AveragePoolBackward<T>{in, out, w, channels});
      } else {
        Machine::for_each(n, AveragePool<T>{in, out, w, channels});
      }
    });
  });
  return steps.finish(r, {to.form});
}

template <class Machine>
PlanPtr plan_pooling(const PlanRequest& r) {
  switch (r.code) {
    case OpCode::max_pool2d:
      return plan_max_pool<Machine>(r);
    case OpCode::max_pool2d_backward:
      return plan_max_pool_backward<Machine>(r);
    case OpCode::avg_pool2d:
      return plan_average_pool<Machine>(r, false, false);
    case OpCode::avg_pool2d_backward:
      return plan_average_pool<Machine>(r, false, true);
    case OpCode::adaptive_avg_pool2d:
      return plan_average_pool<Machine>(r, true, false);
    default:
      return plan_average_pool<Machine>(r, true, true);
  }
}

}  // namespace lockstep::cuda

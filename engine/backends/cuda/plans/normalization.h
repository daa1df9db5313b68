// Plans of batch norms: statistics in float32, images in their stored type.
#pragma once

#include "engine/backends/cuda/kernels/normalization.h"
#include "engine/backends/cuda/launch_shape.h"
#include "engine/backends/cuda/machine.h"

namespace lockstep::cuda {

/// Images viewed as rows of channels.
struct Matrix {
  Index rows, channels, count;
  explicit Matrix(const Shape& sizes)
      : rows(static_cast<Index>(sizes.numel() / sizes[1])),
        channels(static_cast<Index>(sizes[1])),
        count(static_cast<Index>(sizes.numel())) {}
};

/// Returns input `i`, converted to the `Form` that convolutions give their outputs.
template <class Machine>
Ref images(Steps& steps, const PlanRequest& r, size_t i) {
  const Shape& sizes = r.in[i].sizes;
  return as<Machine>(steps, input(r, i), sizes,
                     activation_form(sizes, form_of(r.in[0]).bf16));
}

template <class Machine>
Ref sums_scratch(Steps& steps, const Matrix& m, Form form) {
  return steps.scratch(
      sums_bytes<Machine>(m.rows, m.channels, form, sizeof(TwoSums<1>)));
}

/// Sums columns with `sum` and processes them with `use`: in one launch if the rows fit
/// in a block, otherwise in two. `scratch` is that of sum_columns.
template <class Machine, class Sum, class Use>
void sum_then_use(const Matrix& m, Index columns, Sum sum, Use use, void* scratch) {
  if (fit_in_a_block(m.rows)) {
    Machine::sum_then_columns(m.rows, columns, sum, use);
  } else {
    Machine::sum_columns(m.rows, columns, sum, scratch);
    Machine::for_columns(m.rows, columns, use);
  }
}

/// Sums columns with `sum` unless the statistics are given, then normalises with `use`.
template <class Machine, class Sum, class Use>
void normalize(const Matrix& m, Index columns, bool training, Sum sum, Use use,
               void* scratch) {
  if (training) {
    sum_then_use<Machine>(m, columns, sum, use, scratch);
  } else {
    Machine::for_columns(m.rows, columns, use);
  }
}

template <class Machine>
PlanPtr plan_batch_norm(const PlanRequest& r, bool training) {
  Steps steps(training ? "lockstep:batch_norm" : "lockstep:batch_norm_eval");
  const Matrix m(r.in[0].sizes);
  const auto eps = static_cast<float>(r.attributes.eps);
  const auto momentum = static_cast<float>(r.attributes.momentum);
  const bool relu = r.attributes.relu, adds = given(r, 6);
  const bool keeps_mask = training && relu && !adds;
  const bool counts = given(r, 5);
  const Ref x = images<Machine>(steps, r, 0), y = output(0, x.form);
  const Ref z = adds ? input(r, 6) : Ref{};
  const Ref scratch = training ? sums_scratch<Machine>(steps, m, x.form) : Ref{};
  steps.add([=](const KernelArgs& args) {
    const auto in = [&](size_t i) { return args.in[i].as<float>(); };
    float* mean = training ? args.out[1].as<float>() : in(3);
    float* var = training ? args.out[2].as<float>() : in(4);
    uint8_t* mask = keeps_mask ? args.out[3].as<uint8_t>() : nullptr;
    with_element(x.form, [&](auto zero) {
      using T = decltype(zero);
      const T* from = x.in<T>(args);
      const T* other = adds ? z.in<T>(args) : nullptr;
      T* to = y.in<T>(args);
      with_packs<T>(m.channels, {from, other, to, mask}, [&](auto n) {
        const Index columns = m.channels / n();
        const Running running{in(3), in(4), counts ? args.in[5].as<int64_t>() : nullptr,
                              momentum};
        const BatchStatistics<T, n()> sum{from, float(m.rows), mean,
                                          var,  nullptr,       running};
        const Normalize<T, n()> use{from, in(1), in(2), mean, var, to, mask, eps, relu};
        void* sums = training ? scratch.in<void>(args) : nullptr;
        if (adds) {
          const NormalizeAndAdd<T, n()> add{use, other};
          normalize<Machine>(m, columns, training, sum, add, sums);
        } else {
          normalize<Machine>(m, columns, training, sum, use, sums);
        }
      });
    });
  });
  std::vector<TensorSpec> extra;
  if (keeps_mask) extra.push_back({r.in[0].sizes, DType::u8, nullptr});
  return steps.finish(r, {y.form}, extra);
}

/// If dy is still to be summed, dy and its summands already have the form of the images
/// (ops/fusions.cpp).
template <class Machine>
PlanPtr plan_batch_norm_backward(const PlanRequest& r, bool training) {
  Steps steps("lockstep:batch_norm_backward");
  const Matrix m(r.in[0].sizes);
  const auto eps = static_cast<float>(r.attributes.eps);
  const bool masked = r.attributes.relu && given(r, 5);
  const Ref x = images<Machine>(steps, r, 0), dy = images<Machine>(steps, r, 1);
  const Ref dx = output(0, x.form), scratch = sums_scratch<Machine>(steps, m, x.form);
  const bool adds = given(r, 6), through_relu = given(r, 8);
  steps.add([=](const KernelArgs& args) {
    const uint8_t* mask = masked ? args.in[5].as<uint8_t>() : nullptr;
    const float *gamma = args.in[2].as<float>(), *mean = args.in[3].as<float>();
    const float* var = args.in[4].as<float>();
    float *dgamma = args.out[1].as<float>(), *dbeta = args.out[2].as<float>();
    with_element(x.form, [&](auto zero) {
      using T = decltype(zero);
      const T* from = x.in<T>(args);
      T *grad = dy.in<T>(args), *to = dx.in<T>(args);
      const T* a = adds ? args.in[6].as<T>() : nullptr;
      const T* b = adds ? args.in[7].as<T>() : nullptr;
      const T* values = through_relu ? args.in[8].as<T>() : nullptr;
      with_packs<T>(m.channels, {from, grad, to, mask, a, b, values}, [&](auto n) {
        const GradientSums<T, n()> sum{from, grad,   mask,  mean,    var,
                                       eps,  dgamma, dbeta, nullptr, nullptr};
        const NormalizeBackward<T, n()> use{from,
                                            grad,
                                            mask,
                                            gamma,
                                            mean,
                                            var,
                                            dgamma,
                                            dbeta,
                                            to,
                                            eps,
                                            training ? float(m.rows) : 0.0f};
        const Index columns = m.channels / n();
        if (adds) {
          const SumAndGradientSums<T, n()> both{sum, {a, b, values, grad, false}};
          sum_then_use<Machine>(m, columns, both, use, scratch.in<void>(args));
        } else {
          sum_then_use<Machine>(m, columns, sum, use, scratch.in<void>(args));
        }
      });
    });
  });
  return steps.finish(r, {dx.form});
}

template <class Machine>
PlanPtr plan_statistics(const PlanRequest& r) {
  Steps steps("lockstep:batch_norm_stats");
  const Matrix m(r.in[0].sizes);
  const Ref x = images<Machine>(steps, r, 0);
  const Ref scratch = sums_scratch<Machine>(steps, m, x.form);
  steps.add([=](const KernelArgs& args) {
    const auto out = [&](size_t i) { return args.out[i].as<float>(); };
    with_element(x.form, [&](auto zero) {
      using T = decltype(zero);
      const T* from = x.in<T>(args);
      with_packs<T>(m.channels, {from}, [&](auto n) {
        Machine::sum_columns(m.rows, m.channels / n(),
                             BatchStatistics<T, n()>{from, float(m.rows), out(0),
                                                     out(1), out(2), Running{}},
                             scratch.in<void>(args));
      });
    });
  });
  return steps.finish(r);
}

template <class Machine>
PlanPtr plan_gather_statistics(const PlanRequest& r) {
  Steps steps("lockstep:batch_norm_gather_stats");
  const auto channels = static_cast<Index>(r.out[0].sizes.numel());
  const auto devices = static_cast<Index>(r.in[0].sizes.numel() / (2 * channels + 1));
  steps.add([=](const KernelArgs& args) {
    Machine::for_each(channels,
                      GatherStatistics{args.in[0].as<float>(), devices, channels,
                                       args.out[0].as<float>(), args.out[1].as<float>(),
                                       args.out[2].as<float>()});
  });
  return steps.finish(r);
}

template <class Machine>
PlanPtr plan_update_running(const PlanRequest& r) {
  Steps steps("lockstep:batch_norm_update");
  const auto channels = static_cast<Index>(r.in[0].sizes.numel());
  const auto momentum = static_cast<float>(r.attributes.momentum);
  steps.add([=](const KernelArgs& args) {
    Machine::for_each(
        channels,
        UpdateRunning{args.in[0].as<float>(), args.in[1].as<float>(),
                      args.in[2].as<float>(),
                      Running{args.out[0].as<float>(), args.out[1].as<float>(),
                              args.out[2].as<int64_t>(), momentum}});
  });
  return steps.finish(r);
}

template <class Machine>
PlanPtr plan_backward_reduce(const PlanRequest& r) {
  Steps steps("lockstep:batch_norm_backward_reduce");
  const Matrix m(r.in[0].sizes);
  const auto eps = static_cast<float>(r.attributes.eps);
  const Ref x = images<Machine>(steps, r, 0), dy = images<Machine>(steps, r, 1);
  const Ref scratch = sums_scratch<Machine>(steps, m, x.form);
  steps.add([=](const KernelArgs& args) {
    const float *mean = args.in[2].as<float>(), *var = args.in[3].as<float>();
    const auto out = [&](size_t i) { return args.out[i].as<float>(); };
    with_element(x.form, [&](auto zero) {
      using T = decltype(zero);
      const T *from = x.in<T>(args), *grad = dy.in<T>(args);
      with_packs<T>(m.channels, {from, grad}, [&](auto n) {
        Machine::sum_columns(m.rows, m.channels / n(),
                             GradientSums<T, n()>{from, grad, nullptr, mean, var, eps,
                                                  out(2), out(3), out(0), out(1)},
                             scratch.in<void>(args));
      });
    });
  });
  return steps.finish(r);
}

template <class Machine>
PlanPtr plan_backward_elemt(const PlanRequest& r) {
  Steps steps("lockstep:batch_norm_backward_elemt");
  const Matrix m(r.in[0].sizes);
  const auto eps = static_cast<float>(r.attributes.eps);
  const Ref x = images<Machine>(steps, r, 0), dy = images<Machine>(steps, r, 1);
  const Ref dx = output(0, x.form);
  steps.add([=](const KernelArgs& args) {
    const auto number = [&](size_t i) { return args.in[i].as<float>(); };
    with_element(x.form, [&](auto zero) {
      using T = decltype(zero);
      Machine::for_each(m.count, SharedNormalizeBackward<T>{
                                     x.in<T>(args), dy.in<T>(args), number(2),
                                     number(3), number(4), number(5), number(6),
                                     number(7), dx.in<T>(args), m.channels, eps});
    });
  });
  return steps.finish(r, {dx.form});
}

template <class Machine>
PlanPtr plan_normalization(const PlanRequest& r) {
  switch (r.code) {
    case OpCode::batch_norm:
      return plan_batch_norm<Machine>(r, true);
    case OpCode::batch_norm_eval:
      return plan_batch_norm<Machine>(r, false);
    case OpCode::batch_norm_backward:
      return plan_batch_norm_backward<Machine>(r, true);
    case OpCode::batch_norm_eval_backward:
      return plan_batch_norm_backward<Machine>(r, false);
    case OpCode::batch_norm_stats:
      return plan_statistics<Machine>(r);
    case OpCode::batch_norm_gather_stats:
      return plan_gather_statistics<Machine>(r);
    case OpCode::batch_norm_update:
      return plan_update_running<Machine>(r);
    case OpCode::batch_norm_backward_reduce:
      return plan_backward_reduce<Machine>(r);
    default:
      return plan_backward_elemt<Machine>(r);
  }
}

}  // namespace lockstep::cuda

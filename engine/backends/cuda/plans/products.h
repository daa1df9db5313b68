// Plans of convolutions and linear layers: the tensors are converted, then a library's
// kernel runs, followed by our own small kernels (bias, ReLU).
#pragma once

#include <algorithm>

#include "engine/backends/cuda/kernels/elementwise.h"
#include "engine/backends/cuda/kernels/loss.h"
#include "engine/backends/cuda/kernels/many.h"
#include "engine/backends/cuda/machine.h"
#include "engine/backends/cuda/plans/convolution_form.h"

namespace lockstep::cuda {

template <class Machine>
Step bias_step(Ref y, int64_t count, int64_t channels, bool has_bias, bool relu) {
  return [=](const KernelArgs& args) {
    with_element(y.form, [&](auto zero) {
      using T = decltype(zero);
      const float* bias = has_bias ? args.in[2].as<float>() : nullptr;
      T* to = y.in<T>(args);
      with_packs<T>(Index(channels), {to}, [&](auto n) {
        Machine::for_columns(Index(count / channels), Index(channels) / n(),
                             AddBias<T, n()>{bias, to, relu});
      });
    });
  };
}

/// Adds a step that writes the sum of dy over its rows to output 1.
template <class Machine>
void add_bias_gradient(Steps& steps, Ref dy, int64_t rows, int64_t channels) {
  const Ref scratch = steps.scratch(
      sums_bytes<Machine>(Index(rows), Index(channels), dy.form, sizeof(float)));
  steps.add([=](const KernelArgs& args) {
    with_element(dy.form, [&](auto zero) {
      using T = decltype(zero);
      const T* grads = dy.in<T>(args);
      with_packs<T>(Index(channels), {grads}, [&](auto n) {
        Machine::sum_columns(Index(rows), Index(channels) / n(),
                             SumRows<T, n()>{grads, args.out[1].as<float>()},
                             scratch.in<void>(args));
      });
    });
  });
}

/// Reorders plain images and weights: one launch for 64 of them.
template <class Machine>
PlanPtr plan_reorder_many(const PlanRequest& r, bool bf16) {
  Steps steps("lockstep:reorder_many");
  std::vector<Form> forms;
  for (const TensorSpec& x : r.in) forms.push_back(activation_form(x.sizes, bf16));
  steps.add([forms, bf16](const KernelArgs& args) {
    with_element({true, bf16}, [&](auto zero) {
      using To = decltype(zero);
      for (size_t start = 0; start < args.in.size(); start += kMany) {
        TurnMany<To> table{};
        Index largest = 0;
        for (size_t t = start; t < std::min(start + kMany, args.in.size()); ++t) {
          const Shape& x = args.in[t].sizes;
          const bool turns = forms[t].nhwc;
          const auto plane = static_cast<Index>(turns ? x[2] * x[3] : 1);
          const auto channels = static_cast<Index>(turns ? x[1] : 1);
          const auto size = static_cast<Index>(x.numel());
          table.entry[table.count++] = {
              {args.in[t].as<float>(), args.out[t].as<To>(), plane, channels}, size};
          largest = std::max(largest, size);
        }
        Machine::for_many(table, largest);
      }
    });
  });
  return steps.finish(r, forms);
}

/// Returns images or weights of those sizes in the form that cuDNN reads: channels
/// last, and padded to `wanted`.
template <class Machine>
Ref channels_last(Steps& steps, Ref ref, const Shape& sizes, const Shape& wanted,
                  bool bf16) {
  if (sizes == wanted)
    return as<Machine>(steps, ref, sizes, activation_form(sizes, bf16));
  const Form form{true, bf16};
  const Ref copy = steps.scratch(bytes_of(wanted, form), form);
  const auto plane = static_cast<Index>(sizes[2] * sizes[3]);
  const auto few = static_cast<Index>(sizes[1]), many = static_cast<Index>(wanted[1]);
  const Index channel = ref.form.nhwc ? 1 : plane, pixel = ref.form.nhwc ? few : 1;
  steps.add([=, count = Index(wanted.numel())](const KernelArgs& args) {
    with_element(ref.form, [&](auto in) {
      with_element(form, [&](auto out) {
        using From = decltype(in);
        using To = decltype(out);
        Machine::for_each(count, Pad<From, To>{ref.in<From>(args), copy.in<To>(args),
                                               plane, few, many, channel, pixel});
      });
    });
  });
  return copy;
}

/// Adds a step that writes weights of the form above, a gradient, to output 0.
template <class Machine>
void write_plain(Steps& steps, Ref made, const Shape& sizes, const Shape& wanted) {
  const auto plane = static_cast<Index>(sizes[2] * sizes[3]);
  if (sizes == wanted) {
    const int64_t channels = made.form.nhwc ? sizes[1] : 1;
    steps.add(turn_step<Machine>(made, output(0), sizes.numel(), channels, plane));
    return;
  }
  steps.add([=, few = Index(sizes[1]), many = Index(wanted[1]),
             count = Index(sizes.numel())](const KernelArgs& args) {
    with_element(made.form, [&](auto in) {
      using From = decltype(in);
      Machine::for_each(
          count, Unpad<From, float>{made.in<From>(args), args.out[0].as<float>(), plane,
                                    few, many});
    });
  });
}

/// y = x ∗ w. Weights that had to be converted become a second output, for the
/// gradient of x (ops/conv2d.cpp).
template <class Machine>
PlanPtr plan_forward(const PlanRequest& r, bool bf16) {
  const Shape &x = r.in[0].sizes, &w = r.in[1].sizes, &y = r.out[0].sizes;
  const Shape wide_x = padded(x, x, bf16), wide_w = padded(w, x, bf16);
  const ConvolutionPlan conv = Machine::convolution(
      {Convolution::Direction::forward, wide_x, wide_w, y, r.attributes, bf16});
  Steps steps(conv.impl);
  const Ref from = channels_last<Machine>(steps, input(r, 0), x, wide_x, bf16);
  Ref weights = input(r, 1);
  std::vector<TensorSpec> extra;
  const Form form = activation_form(w, bf16);
  if (w != wide_w) {
    weights = channels_last<Machine>(steps, weights, w, wide_w, bf16);
  } else if (weights.form != form) {
    const Ref kept = output(1, form);
    steps.add(as_step<Machine>(weights, kept, w));
    extra.push_back({w, r.in[1].dtype, layout_of(w, form)});
    weights = kept;
  }
  const Ref to = output(0, activation_form(y, bf16));
  const Ref scratch = steps.scratch(conv.workspace);
  steps.add([=, run = conv.run](const KernelArgs& args) {
    run(from.in<void>(args), weights.in<void>(args), to.in<void>(args),
        scratch.in<void>(args));
  });
  const bool has_bias = given(r, 2), relu = r.attributes.relu;
  if (has_bias || relu) {
    steps.add(bias_step<Machine>(to, y.numel(), y[1], has_bias, relu));
  }
  return steps.finish(r, {to.form}, std::move(extra));
}

/// dx = dy ∗ w.
template <class Machine>
PlanPtr plan_data_gradient(const PlanRequest& r, bool bf16) {
  const Shape &dy = r.in[0].sizes, &w = r.in[1].sizes, &dx = r.out[0].sizes;
  const ConvolutionPlan conv = Machine::convolution(
      {Convolution::Direction::backward_data, dx, w, dy, r.attributes, bf16});
  Steps steps(conv.impl);
  const Ref from = channels_last<Machine>(steps, input(r, 0), dy, dy, bf16);
  const Ref weights = channels_last<Machine>(steps, input(r, 1), w, w, bf16);
  const Ref to = output(0, activation_form(dx, bf16));
  const Ref scratch = steps.scratch(conv.workspace);
  steps.add([=, run = conv.run](const KernelArgs& args) {
    run(weights.in<void>(args), from.in<void>(args), to.in<void>(args),
        scratch.in<void>(args));
  });
  return steps.finish(r, {to.form});
}

/// dw = x ∗ dy, and the sum of dy if there is a bias. In float32, dw keeps the order
/// that cuDNN writes: the optimizer reads it as it is, and what needs plain memory,
/// such as a bucket, copies it.
template <class Machine>
PlanPtr plan_weight_gradient(const PlanRequest& r, bool bf16) {
  const Shape &x = r.in[0].sizes, &dy = r.in[1].sizes, &dw = r.out[0].sizes;
  const Shape wide_x = padded(x, x, bf16), wide_dw = padded(dw, x, bf16);
  const ConvolutionPlan conv =
      Machine::convolution({Convolution::Direction::backward_weight, wide_x, wide_dw,
                            dy, r.attributes, bf16});
  Steps steps(conv.impl);
  const Ref images = channels_last<Machine>(steps, input(r, 0), x, wide_x, bf16);
  const Ref grads = channels_last<Machine>(steps, input(r, 1), dy, dy, bf16);
  const Form made_form = activation_form(wide_dw, bf16);
  const bool as_made = !made_form.bf16 && dw == wide_dw;
  const Ref made = as_made ? output(0, made_form)
                           : steps.scratch(bytes_of(wide_dw, made_form), made_form);
  const Ref scratch = steps.scratch(conv.workspace);
  steps.add([=, run = conv.run](const KernelArgs& args) {
    run(images.in<void>(args), grads.in<void>(args), made.in<void>(args),
        scratch.in<void>(args));
  });
  if (!as_made) write_plain<Machine>(steps, made, dw, wide_dw);
  if (r.out.size() > 1) {
    add_bias_gradient<Machine>(steps, grads, dy.numel() / dy[1], dy[1]);
  }
  return steps.finish(r, {as_made ? made_form : Form{}});
}

template <class Machine>
PlanPtr plan_convolution(const PlanRequest& r) {
  switch (r.code) {
    case OpCode::conv2d:
      return plan_forward<Machine>(r, autocast());
    case OpCode::conv2d_backward_data:
      return plan_data_gradient<Machine>(r, autocast());
    case OpCode::reorder_many:
      return plan_reorder_many<Machine>(r, autocast());
    default:
      return plan_weight_gradient<Machine>(r, autocast());
  }
}

template <class Machine>
PlanPtr plan_linear(const PlanRequest& r) {
  // A single output is a dot product, such as a sum of squares: keep full precision.
  const bool dot = r.code == OpCode::linear && r.out[0].sizes.numel() == 1;
  const Form form{false, autocast() && !dot};
  Steps steps(form.bf16 ? "cublas:bfloat16" : "cublas:float32");
  const Ref a = as<Machine>(steps, input(r, 0), r.in[0].sizes, form);
  const Ref b = as<Machine>(steps, input(r, 1), r.in[1].sizes, form);
  if (r.code == OpCode::linear) {  // y[N×O] = x[N×I] wᵀ[O×I]
    const int64_t N = r.in[0].sizes[0], I = r.in[0].sizes[1], O = r.in[1].sizes[0];
    const Ref y = output(0, form);
    steps.add([=, run = Machine::gemm({N, O, I, false, true, form.bf16, form.bf16})](
                  const KernelArgs& args) {
      run(a.in<void>(args), b.in<void>(args), y.in<void>(args));
    });
    const bool has_bias = given(r, 2), relu = r.attributes.relu;
    if (has_bias || relu) {
      steps.add(bias_step<Machine>(y, N * O, O, has_bias, relu));
    }
    return steps.finish(r, {form});
  }
  if (r.code == OpCode::linear_backward_data) {  // dx[N×I] = dy[N×O] w[O×I]
    const int64_t N = r.in[0].sizes[0], O = r.in[0].sizes[1], I = r.in[1].sizes[1];
    const Ref dx = output(0, form);
    steps.add([=, run = Machine::gemm({N, I, O, false, false, form.bf16, form.bf16})](
                  const KernelArgs& args) {
      run(a.in<void>(args), b.in<void>(args), dx.in<void>(args));
    });
    return steps.finish(r, {form});
  }
  // dw[O×I] = dyᵀ[N×O] x[N×I], always in float32, for the optimizer
  const int64_t N = r.in[0].sizes[0], I = r.in[0].sizes[1], O = r.in[1].sizes[1];
  steps.add([=, run = Machine::gemm({O, I, N, true, false, form.bf16, false})](
                const KernelArgs& args) {
    run(b.in<void>(args), a.in<void>(args), args.out[0].as<void>());
  });
  if (r.out.size() > 1) add_bias_gradient<Machine>(steps, b, N, O);
  return steps.finish(r);
}

}  // namespace lockstep::cuda

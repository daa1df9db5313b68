// Plans of convolutions and linear layers: the tensors are converted, then a library's
// kernel runs, followed by our own small kernels (bias, ReLU).
#pragma once

#include "engine/backends/cuda/kernels/elementwise.h"
#include "engine/backends/cuda/kernels/loss.h"
#include "engine/backends/cuda/machine.h"

namespace lockstep::cuda {

/// Returns true if matrix products run in bfloat16 (`--amp`).
inline bool autocast() { return backend_options().amp; }

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

/// Converts weights O×C×kH×kW from plain to O×kH×kW×C.
template <class Machine>
Ref channels_last(Steps& steps, Ref w, const Shape& sizes, bool bf16) {
  return as<Machine>(steps, w, sizes, activation_form(sizes, bf16));
}

template <class Machine>
PlanPtr plan_convolution(const PlanRequest& r) {
  const bool bf16 = autocast();
  const auto form = [&](const Shape& sizes) { return activation_form(sizes, bf16); };
  using Way = Convolution::Direction;
  if (r.code == OpCode::conv2d) {
    const Shape &x = r.in[0].sizes, &w = r.in[1].sizes, &y = r.out[0].sizes;
    const ConvolutionPlan conv =
        Machine::convolution({Way::forward, x, w, y, r.attributes, bf16});
    Steps steps(conv.impl);
    const Ref from = as<Machine>(steps, input(r, 0), x, form(x));
    const Ref weights = channels_last<Machine>(steps, input(r, 1), w, bf16);
    const Ref to = output(0, form(y)), scratch = steps.scratch(conv.workspace);
    steps.add([=, run = conv.run](const KernelArgs& args) {
      run(from.in<void>(args), weights.in<void>(args), to.in<void>(args),
          scratch.in<void>(args));
    });
    const bool has_bias = given(r, 2), relu = r.attributes.relu;
    if (has_bias || relu) {
      steps.add(bias_step<Machine>(to, y.numel(), y[1], has_bias, relu));
    }
    return steps.finish(r, {to.form});
  }
  if (r.code == OpCode::conv2d_backward_data) {
    const Shape &dy = r.in[0].sizes, &w = r.in[1].sizes, &dx = r.out[0].sizes;
    const ConvolutionPlan conv =
        Machine::convolution({Way::backward_data, dx, w, dy, r.attributes, bf16});
    Steps steps(conv.impl);
    const Ref from = as<Machine>(steps, input(r, 0), dy, form(dy));
    const Ref weights = channels_last<Machine>(steps, input(r, 1), w, bf16);
    const Ref to = output(0, form(dx)), scratch = steps.scratch(conv.workspace);
    steps.add([=, run = conv.run](const KernelArgs& args) {
      run(weights.in<void>(args), from.in<void>(args), to.in<void>(args),
          scratch.in<void>(args));
    });
    return steps.finish(r, {to.form});
  }
  const Shape &x = r.in[0].sizes, &dy = r.in[1].sizes, &dw = r.out[0].sizes;
  const ConvolutionPlan conv =
      Machine::convolution({Way::backward_weight, x, dw, dy, r.attributes, bf16});
  Steps steps(conv.impl);
  const Ref images = as<Machine>(steps, input(r, 0), x, form(x));
  const Ref grads = as<Machine>(steps, input(r, 1), dy, form(dy));
  const Form made_form = form(dw);
  const Ref made = steps.scratch(bytes_of(dw, made_form), made_form);
  const Ref scratch = steps.scratch(conv.workspace);
  steps.add([=, run = conv.run](const KernelArgs& args) {
    run(images.in<void>(args), grads.in<void>(args), made.in<void>(args),
        scratch.in<void>(args));
  });
  const int64_t channels = made_form.nhwc ? dw[1] : 1;
  steps.add(turn_step<Machine>(made, output(0), dw.numel(), channels, dw[2] * dw[3]));
  if (r.out.size() > 1) {
    add_bias_gradient<Machine>(steps, grads, dy.numel() / dy[1], dy[1]);
  }
  return steps.finish(r);
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

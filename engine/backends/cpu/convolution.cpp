// Convolutions. Winograd's algorithm (3×3, stride 1) requires 2.25 to 4 times fewer
// multiplications. oneDNN 2 supports it for AVX-512 only, and only on explicit request;
// other processors use ours (winograd.h). A fixed rule based on the shape selects the
// algorithm; with `--benchmark`, the candidates are timed instead, once per shape.
#include <algorithm>

#include "engine/backends/cpu/cpu_backend.h"
#include "engine/backends/cpu/program.h"
#include "engine/backends/cpu/winograd.h"

namespace lockstep::cpu {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;

struct Problem {
  Shape x, w, y;
  dnnl::memory::dims strides, padding, padding_end;
  bool is_winograd;  ///< whether Winograd's algorithm can compute it

  Problem(const Shape& x, const Shape& w, const Shape& y, const Attributes& a)
      : x(x),
        w(w),
        y(y),
        strides{a.stride[0], a.stride[1]},
        padding{a.padding[0], a.padding[1]} {
    for (int i : {0, 1}) {  // padding required by the last window
      padding_end.push_back((y[2 + i] - 1) * a.stride[i] + w[2 + i] - x[2 + i] -
                            a.padding[i]);
    }
    is_winograd =
        !backend_options().amp && backend_options().conv != ConvAlgorithm::direct &&
        w[2] == 3 && w[3] == 3 && a.stride[0] == 1 && a.stride[1] == 1 &&
        a.padding[0] == 1 && a.padding[1] == 1 && w[0] % 16 == 0 && w[1] % 16 == 0;
  }
};

dnnl::convolution_forward::primitive_desc forward_desc(const Problem& p, bool bias,
                                                       bool relu, algorithm a) {
  using dnnl::convolution_forward;
  const Md b = bias ? any({p.w[0]}) : Md();
  const auto desc =
      bias ? convolution_forward::desc(prop_kind::forward_training, a, any_operand(p.x),
                                       any_operand(p.w), b, any(p.y), p.strides,
                                       p.padding, p.padding_end)
           : convolution_forward::desc(prop_kind::forward_training, a, any_operand(p.x),
                                       any_operand(p.w), any(p.y), p.strides, p.padding,
                                       p.padding_end);
  return {desc, attributes(relu), engine()};
}

PlanPtr plan_forward(const PlanRequest& r, const Problem& p, algorithm a) {
  const TensorSpec &x = r.in[0], &w = r.in[1];
  const bool bias = r.in[2].dtype == DType::f32;
  const auto pd = forward_desc(p, bias, r.attributes.relu, a);
  Program program;
  std::vector<Program::Argument> arguments{
      {DNNL_ARG_SRC, program.as(in(0), described(x), pd.src_desc()), pd.src_desc()},
      {DNNL_ARG_WEIGHTS, program.as(in(1), described(w), pd.weights_desc()),
       pd.weights_desc()},
      {DNNL_ARG_DST, out(0), pd.dst_desc()}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, in(2), pd.bias_desc()});
  program.run(pd, dnnl::convolution_forward(pd), arguments);
  return program.finish({layout_of(pd.dst_desc(), p.y)});
}

PlanPtr plan_backward_data(const PlanRequest& r, const Problem& p, algorithm a) {
  const TensorSpec &dy = r.in[0], &w = r.in[1];
  using dnnl::convolution_backward_data;
  const convolution_backward_data::desc desc(a, any(p.x), any_operand(p.w),
                                             any_operand(p.y), p.strides, p.padding,
                                             p.padding_end);
  const convolution_backward_data::primitive_desc pd(desc, attributes(), engine(),
                                                     forward_desc(p, false, false, a));
  Program program;
  std::vector<Program::Argument> arguments{
      {DNNL_ARG_DIFF_DST, program.as(in(0), described(dy), pd.diff_dst_desc()),
       pd.diff_dst_desc()},
      {DNNL_ARG_WEIGHTS, program.as(in(1), described(w), pd.weights_desc()),
       pd.weights_desc()},
      {DNNL_ARG_DIFF_SRC, out(0), pd.diff_src_desc()}};
  program.run(pd, dnnl::convolution_backward_data(pd), arguments);
  return program.finish({layout_of(pd.diff_src_desc(), p.x)});
}

PlanPtr plan_backward_weight(const PlanRequest& r, const Problem& p, algorithm a) {
  const TensorSpec &x = r.in[0], &dy = r.in[1];
  const bool bias = r.out.size() > 1;
  using dnnl::convolution_backward_weights;
  const auto desc = bias ? convolution_backward_weights::desc(
                               a, any_operand(p.x), any(p.w), any({p.w[0]}),
                               any_operand(p.y), p.strides, p.padding, p.padding_end)
                         : convolution_backward_weights::desc(
                               a, any_operand(p.x), any(p.w), any_operand(p.y),
                               p.strides, p.padding, p.padding_end);
  const convolution_backward_weights::primitive_desc pd(
      desc, attributes(), engine(), forward_desc(p, bias, false, a));
  Program program;
  const Md made = pd.diff_weights_desc(), wanted = plain(p.w);
  const Ref dw = program.result(0, made, wanted);
  std::vector<Program::Argument> arguments{
      {DNNL_ARG_SRC, program.as(in(0), described(x), pd.src_desc()), pd.src_desc()},
      {DNNL_ARG_DIFF_DST, program.as(in(1), described(dy), pd.diff_dst_desc()),
       pd.diff_dst_desc()},
      {DNNL_ARG_DIFF_WEIGHTS, dw, made}};
  if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, out(1), pd.diff_bias_desc()});
  program.run(pd, dnnl::convolution_backward_weights(pd), arguments);
  program.deliver(dw, made, 0, wanted);
  return program.finish({});
}

Problem problem_of(const PlanRequest& r) {
  switch (r.code) {
    case OpCode::conv2d:
      return {r.in[0].sizes, r.in[1].sizes, r.out[0].sizes, r.attributes};
    case OpCode::conv2d_backward_data:
      return {r.out[0].sizes, r.in[1].sizes, r.in[0].sizes, r.attributes};
    default:
      return {r.in[0].sizes, r.out[0].sizes, r.in[1].sizes, r.attributes};
  }
}

/// Plans our own kernel; returns null if it does not support the processor or shape.
/// Below 4×4, tiles would be mostly empty.
PlanPtr plan_own_winograd(const PlanRequest& r, const Problem& p) {
  if (!has_winograd() || channel_block() != 8 || p.x[2] < 4 || p.x[3] < 4) return {};
  const Winograd conv(p.x[0], p.w[1], p.w[0], p.x[2], p.x[3]);
  const Md activations[] = {preferred(p.x), preferred(p.y)};
  Program program;
  const auto run = [&](const std::vector<Ref>& places, auto kernel) {
    const Ref scratch = program.scratch(conv.workspace());
    program.run(
        [places, scratch, kernel](const KernelArgs& args) {
          const auto at = [&](const Ref& ref) {
            return static_cast<float*>(address(ref, args));
          };
          kernel(at(places[0]), at(places[1]), at(places[2]), at(scratch), args);
        },
        "lockstep:winograd");
  };
  const auto as = [&](size_t i, const Md& wanted) {
    return program.as(in(i), described(r.in[i]), wanted);
  };
  switch (r.code) {
    case OpCode::conv2d: {
      const bool bias = r.in[2].dtype == DType::f32, relu = r.attributes.relu;
      run({as(0, activations[0]), as(1, plain(p.w)), out(0)},
          [conv, bias, relu](float* x, float* w, float* y, float* scratch,
                             const KernelArgs& args) {
            const auto* b = bias ? static_cast<const float*>(args.in[2].data) : nullptr;
            conv.forward(x, w, y, {b, relu}, scratch);
          });
      return program.finish({layout_of(activations[1], p.y)});
    }
    case OpCode::conv2d_backward_data:
      run({as(0, activations[1]), as(1, plain(p.w)), out(0)},
          [conv](float* dy, float* w, float* dx, float* scratch, const KernelArgs&) {
            conv.backward_data(dy, w, dx, scratch);
          });
      return program.finish({layout_of(activations[0], p.x)});
    default:
      run({as(0, activations[0]), as(1, activations[1]), out(0)},
          [conv](float* x, float* dy, float* dw, float* scratch,
                 const KernelArgs& args) {
            const bool bias = args.out.size() > 1;
            auto* db = bias ? static_cast<float*>(args.out[1].data) : nullptr;
            conv.backward_weight(x, dy, dw, db, scratch);
          });
      return program.finish({});
  }
}

/// Returns null if oneDNN has no such kernel for this processor (its Winograd kernels
/// require AVX-512).
PlanPtr try_plan(const PlanRequest& r, const Problem& p, algorithm a) {
  try {
    switch (r.code) {
      case OpCode::conv2d:
        return plan_forward(r, p, a);
      case OpCode::conv2d_backward_data:
        return plan_backward_data(r, p, a);
      default:
        return plan_backward_weight(r, p, a);
    }
  } catch (const dnnl::error&) {
    if (a == algorithm::convolution_direct) throw;
    return nullptr;
  }
}

/// The sizes above which Winograd's kernels are faster than direct ones.
struct WinogradRule {
  int64_t tiles, channels;
  int64_t tiles_by_channels;  ///< of their product
};
constexpr WinogradRule kOneDnnRule{64, 64, 128 * 64}, kOwnRule{32, 16, 0};

/// Winograd's kernels transform the weights of all channels, whatever the batch size,
/// and compute whole tiles of 4×4 results. They therefore need enough tiles in the
/// batch, and tiles that are at least 3/4 inside the map: maps of 1×1 to 3×3, 5×5, 6×6,
/// 9×9, 10×10, 13×13 and 17×17 are excluded. oneDNN's kernels also fill 7 MB of
/// buffers, which does not pay off with few channels. Measured by
/// tests/bench/conv_bench (RESULTS.md): oneDNN's kernels take 0.75 to 1.20 times as
/// long as direct ones with 32 tiles and 0.48 to 0.90 times with 64; ours take 0.56
/// to 1.17 times as long with 16 tiles and 0.50 to 0.92 times with 32.
bool winograd_pays(const Problem& p, const WinogradRule& rule) {
  if (backend_options().conv == ConvAlgorithm::winograd) return true;
  const int64_t of_map = (p.y[2] + 3) / 4 * ((p.y[3] + 3) / 4);
  const int64_t tiles = p.y[0] * of_map, channels = std::min(p.w[0], p.w[1]);
  return tiles >= rule.tiles && p.y[2] * p.y[3] >= 12 * of_map &&
         channels >= rule.channels && tiles * channels >= rule.tiles_by_channels;
}

/// Returns null if Winograd's algorithm cannot be used, or, unless `always`, would be
/// slower.
PlanPtr plan_winograd(const PlanRequest& r, const Problem& p, bool always) {
  PlanPtr plan;
  if (!p.is_winograd) return plan;
  if (always || winograd_pays(p, kOneDnnRule)) {
    plan = try_plan(r, p, algorithm::convolution_winograd);
  }
  if (!plan && (always || winograd_pays(p, kOwnRule))) plan = plan_own_winograd(r, p);
  return plan;
}

}  // namespace

PlanPtr plan_convolution(const PlanRequest& r) {
  const Problem p = problem_of(r);
  const BackendOptions& options = backend_options();
  if (options.benchmark && !options.deterministic) {
    return fastest(
        r, {plan_winograd(r, p, true), try_plan(r, p, algorithm::convolution_direct)});
  }
  const PlanPtr winograd = plan_winograd(r, p, false);
  return winograd ? winograd : try_plan(r, p, algorithm::convolution_direct);
}

}  // namespace lockstep::cpu

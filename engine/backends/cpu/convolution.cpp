// Convolutions. Winograd's algorithm (3×3, stride 1) does 2.25 to 4 times fewer
// multiplications; oneDNN 2 has it for AVX-512 and only when asked for by name. The
// choice follows a fixed rule, so that every batch size runs the same algorithm; with
// `--benchmark` it is measured instead, once per shape.
#include "engine/backends/cpu/cpu_backend.h"
#include "engine/backends/cpu/measure.h"
#include "engine/backends/cpu/program.h"

namespace lockstep::cpu {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;

struct Problem {
  Shape x, w, y;
  dnnl::memory::dims strides, padding, padding_end;
  bool winograd_rule;

  Problem(const Shape& x, const Shape& w, const Shape& y, const Attributes& a)
      : x(x),
        w(w),
        y(y),
        strides{a.stride[0], a.stride[1]},
        padding{a.padding[0], a.padding[1]} {
    for (int i : {0, 1}) {  // what the last window needs beyond the image
      padding_end.push_back((y[2 + i] - 1) * a.stride[i] + w[2 + i] - x[2 + i] -
                            a.padding[i]);
    }
    winograd_rule = backend_options().conv == ConvAlgorithm::automatic && w[2] == 3 &&
                    w[3] == 3 && a.stride[0] == 1 && a.stride[1] == 1 &&
                    a.padding[0] == 1 && a.padding[1] == 1 && w[0] % 16 == 0 &&
                    w[1] % 16 == 0;
  }
};

dnnl::convolution_forward::primitive_desc forward_desc(const Problem& p, bool bias,
                                                       bool relu, algorithm a) {
  using dnnl::convolution_forward;
  const Md b = bias ? any({p.w[0]}) : Md();
  const auto desc = bias ? convolution_forward::desc(
                               prop_kind::forward_training, a, any(p.x), any(p.w), b,
                               any(p.y), p.strides, p.padding, p.padding_end)
                         : convolution_forward::desc(
                               prop_kind::forward_training, a, any(p.x), any(p.w),
                               any(p.y), p.strides, p.padding, p.padding_end);
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
  const convolution_backward_data::desc desc(a, any(p.x), any(p.w), any(p.y), p.strides,
                                             p.padding, p.padding_end);
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
  const auto desc =
      bias ? convolution_backward_weights::desc(a, any(p.x), any(p.w), any({p.w[0]}),
                                                any(p.y), p.strides, p.padding,
                                                p.padding_end)
           : convolution_backward_weights::desc(a, any(p.x), any(p.w), any(p.y),
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

/// Null if this processor has no such kernel (Winograd without AVX-512).
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

}  // namespace

PlanPtr plan_convolution(const PlanRequest& r) {
  const Problem p = problem_of(r);
  const PlanPtr winograd =
      p.winograd_rule ? try_plan(r, p, algorithm::convolution_winograd) : nullptr;
  const BackendOptions& options = backend_options();
  if (!options.benchmark || options.deterministic) {
    return winograd ? winograd : try_plan(r, p, algorithm::convolution_direct);
  }
  return fastest(r, {winograd, try_plan(r, p, algorithm::convolution_direct)});
}

}  // namespace lockstep::cpu

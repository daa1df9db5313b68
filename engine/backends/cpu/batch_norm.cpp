// Batch normalisation, fused with a ReLU that follows it.
#include "engine/backends/cpu/cpu_backend.h"
#include "engine/backends/cpu/program.h"

namespace lockstep::cpu {
namespace {

using dnnl::batch_normalization_backward;
using dnnl::batch_normalization_forward;
using dnnl::normalization_flags;
using dnnl::prop_kind;

batch_normalization_forward::primitive_desc forward_desc(const Md& x, double eps,
                                                         bool training, bool relu) {
  auto flags = normalization_flags::use_scale | normalization_flags::use_shift;
  if (!training) flags |= normalization_flags::use_global_stats;
  if (relu) flags |= normalization_flags::fuse_norm_relu;
  const auto kind =
      training ? prop_kind::forward_training : prop_kind::forward_inference;
  return {batch_normalization_forward::desc(kind, x, static_cast<float>(eps), flags),
          attributes(), engine()};
}

/// Updates the running statistics; the running variance is unbiased.
void update_running(const KernelArgs& args, double momentum) {
  const float m = static_cast<float>(momentum);
  const int64_t channels = args.in[1].numel();
  const float count = static_cast<float>(args.in[0].numel() / channels);
  const float *mean = args.out[1].as<float>(), *var = args.out[2].as<float>();
  float *running_mean = args.in[3].as<float>(), *running_var = args.in[4].as<float>();
  for (int64_t c = 0; c < channels; ++c) {
    running_mean[c] = (1 - m) * running_mean[c] + m * mean[c];
    running_var[c] = (1 - m) * running_var[c] + m * var[c] * count / (count - 1);
  }
  ++*args.in[5].as<int64_t>();
}

PlanPtr plan_forward(const PlanRequest& r, bool training) {
  const Md x = described(r.in[0]), channel = plain(r.in[1].sizes);
  const auto pd = forward_desc(x, r.attributes.eps, training, r.attributes.relu);
  Program program;
  std::vector<Program::Argument> arguments{
      {DNNL_ARG_SRC, in(0), x},
      {DNNL_ARG_SCALE, in(1), channel},
      {DNNL_ARG_SHIFT, in(2), channel},
      {DNNL_ARG_MEAN, training ? out(1) : in(3), channel},
      {DNNL_ARG_VARIANCE, training ? out(2) : in(4), channel},
      {DNNL_ARG_DST, out(0), x}};
  std::vector<TensorSpec> extra;
  if (training && r.attributes.relu) {  // one bit (or byte) per element: x > 0
    const Md mask = pd.workspace_desc();
    arguments.push_back({DNNL_ARG_WORKSPACE, out(3), mask});
    extra.push_back({{static_cast<int64_t>(mask.get_size())}, DType::u8, nullptr});
  }
  program.run(pd, dnnl::batch_normalization_forward(pd), arguments);
  if (training) {
    program.run([momentum = r.attributes.momentum](const KernelArgs& args) {
      update_running(args, momentum);
    });
  }
  return program.finish({r.in[0].layout}, extra);
}

PlanPtr plan_backward(const PlanRequest& r, bool training) {
  const Md x = described(r.in[0]), channel = plain(r.in[2].sizes);
  const bool relu = r.attributes.relu;
  // In evaluation mode, the gradient requires a `forward_training` hint that uses the
  // given statistics.
  auto flags = normalization_flags::use_scale | normalization_flags::use_shift;
  if (!training) flags |= normalization_flags::use_global_stats;
  if (relu) flags |= normalization_flags::fuse_norm_relu;
  const float eps = static_cast<float>(r.attributes.eps);
  const batch_normalization_forward::primitive_desc hint(
      batch_normalization_forward::desc(prop_kind::forward_training, x, eps, flags),
      attributes(), engine());
  const batch_normalization_backward::primitive_desc pd(
      batch_normalization_backward::desc(prop_kind::backward, x, x, eps, flags),
      attributes(), engine(), hint);
  Program program;
  std::vector<Program::Argument> arguments{
      {DNNL_ARG_SRC, in(0), x},
      {DNNL_ARG_DIFF_DST, program.as(in(1), described(r.in[1]), x), x},
      {DNNL_ARG_SCALE, in(2), channel},
      {DNNL_ARG_SHIFT, in(2),
       channel},  // unused, but oneDNN 2.6 checks the argument count
      {DNNL_ARG_MEAN, in(3), channel},
      {DNNL_ARG_VARIANCE, in(4), channel},
      {DNNL_ARG_DIFF_SRC, out(0), x},
      {DNNL_ARG_DIFF_SCALE, out(1), channel},
      {DNNL_ARG_DIFF_SHIFT, out(2), channel}};
  if (relu) arguments.push_back({DNNL_ARG_WORKSPACE, in(5), hint.workspace_desc()});
  program.run(pd, dnnl::batch_normalization_backward(pd), arguments);
  return program.finish({r.in[0].layout});
}

}  // namespace

PlanPtr plan_batch_norm(const PlanRequest& request) {
  switch (request.code) {
    case OpCode::batch_norm:
      return plan_forward(request, true);
    case OpCode::batch_norm_eval:
      return plan_forward(request, false);
    case OpCode::batch_norm_backward:
      return plan_backward(request, true);
    default:
      return plan_backward(request, false);
  }
}

}  // namespace lockstep::cpu

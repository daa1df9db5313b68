// Pooling.
#include "engine/backends/cpu/cpu_backend.h"
#include "engine/backends/cpu/program.h"

namespace lockstep::cpu {
namespace {

using dnnl::algorithm;
using dnnl::pooling_backward;
using dnnl::pooling_forward;
using dnnl::prop_kind;

/// The positions of the maxima: oneDNN's workspace, with the layouts it was created
/// for.
struct Positions : Layout {
  Positions(const Md& workspace, const Md& x, const Md& y)
      : workspace(workspace), x(x), y(y) {}
  size_t bytes() const override { return workspace.get_size(); }
  std::string str() const override { return "positions"; }
  Md workspace, x, y;
};

pooling_forward::primitive_desc forward_desc(algorithm kind, const Md& x, const Md& y,
                                             const Attributes& a) {
  dnnl::memory::dims strides, kernel, begin, end;
  for (int i : {0, 1}) {
    strides.push_back(a.stride[i]);
    kernel.push_back(a.kernel[i]);
    begin.push_back(a.padding[i]);
    end.push_back((y.dims()[2 + i] - 1) * a.stride[i] + a.kernel[i] - x.dims()[2 + i] -
                  a.padding[i]);
  }
  const pooling_forward::desc desc(prop_kind::forward_training, kind, x, y, strides,
                                   kernel, begin, end);
  return {desc, attributes(), engine()};
}

pooling_backward::primitive_desc backward_desc(
    algorithm kind, const Md& dx, const Md& dy, const Attributes& a,
    const pooling_forward::primitive_desc& hint) {
  dnnl::memory::dims strides, kernel, begin, end;
  for (int i : {0, 1}) {
    strides.push_back(a.stride[i]);
    kernel.push_back(a.kernel[i]);
    begin.push_back(a.padding[i]);
    end.push_back((dy.dims()[2 + i] - 1) * a.stride[i] + a.kernel[i] -
                  dx.dims()[2 + i] - a.padding[i]);
  }
  const pooling_backward::desc desc(kind, dx, dy, strides, kernel, begin, end);
  return {desc, attributes(), engine(), hint};
}

PlanPtr plan_max(const PlanRequest& r) {
  const Md x = described(r.in[0]);
  const auto pd =
      forward_desc(algorithm::pooling_max, x, any(r.out[0].sizes), r.attributes);
  const Md ws = pd.workspace_desc();
  Program program;
  program.run(pd, pooling_forward(pd),
              {{DNNL_ARG_SRC, in(0), x},
               {DNNL_ARG_DST, out(0), pd.dst_desc()},
               {DNNL_ARG_WORKSPACE, out(1), ws}});
  const TensorSpec positions{{static_cast<int64_t>(ws.get_size())},
                             DType::u8,
                             std::make_shared<Positions>(ws, x, pd.dst_desc())};
  return program.finish({layout_of(pd.dst_desc(), r.out[0].sizes)}, {positions});
}

PlanPtr plan_max_backward(const PlanRequest& r) {
  const auto& positions = static_cast<const Positions&>(*r.in[1].layout);
  const auto hint =
      forward_desc(algorithm::pooling_max, positions.x, positions.y, r.attributes);
  const auto pd = backward_desc(algorithm::pooling_max, positions.x, positions.y,
                                r.attributes, hint);
  Program program;
  const Ref dy = program.as(in(0), described(r.in[0]), positions.y);
  program.run(pd, pooling_backward(pd),
              {{DNNL_ARG_DIFF_DST, dy, positions.y},
               {DNNL_ARG_WORKSPACE, in(1), positions.workspace},
               {DNNL_ARG_DIFF_SRC, out(0), positions.x}});
  return program.finish({layout_of(positions.x, r.out[0].sizes)});
}

PlanPtr plan_average(const PlanRequest& r, const Attributes& a, algorithm kind) {
  const Md x = described(r.in[0]);
  const auto pd = forward_desc(kind, x, any(r.out[0].sizes), a);
  Program program;
  program.run(pd, pooling_forward(pd),
              {{DNNL_ARG_SRC, in(0), x}, {DNNL_ARG_DST, out(0), pd.dst_desc()}});
  return program.finish({layout_of(pd.dst_desc(), r.out[0].sizes)});
}

PlanPtr plan_average_backward(const PlanRequest& r, const Attributes& a,
                              algorithm kind) {
  // The gradient is often plain, after a flatten; it is reordered here to the layout
  // that convolutions prefer.
  const Md dx = preferred(r.out[0].sizes), dy = preferred(r.in[0].sizes);
  const auto pd = backward_desc(kind, dx, dy, a, forward_desc(kind, dx, dy, a));
  Program program;
  const Ref from = program.as(in(0), described(r.in[0]), dy);
  program.run(pd, pooling_backward(pd),
              {{DNNL_ARG_DIFF_DST, from, dy}, {DNNL_ARG_DIFF_SRC, out(0), dx}});
  return program.finish({layout_of(dx, r.out[0].sizes)});
}

/// Converts adaptive pooling to fixed windows; returns false if their sizes differ.
bool as_fixed_windows(const Shape& large, const Shape& small, Attributes& a) {
  if (large[2] % small[2] != 0 || large[3] % small[3] != 0) return false;
  a.kernel = a.stride = {large[2] / small[2], large[3] / small[3]};
  a.padding = {0, 0};
  return true;
}

}  // namespace

PlanPtr plan_pooling(const PlanRequest& r) {
  Attributes a = r.attributes;
  const auto with_padding = algorithm::pooling_avg_include_padding;
  switch (r.code) {
    case OpCode::max_pool2d:
      return plan_max(r);
    case OpCode::max_pool2d_backward:
      return plan_max_backward(r);
    case OpCode::avg_pool2d:
      return plan_average(r, a, with_padding);
    case OpCode::avg_pool2d_backward:
      return plan_average_backward(r, a, with_padding);
    case OpCode::adaptive_avg_pool2d:
      if (!as_fixed_windows(r.in[0].sizes, r.out[0].sizes, a)) return plan_on_plain(r);
      return plan_average(r, a, with_padding);
    default:
      if (!as_fixed_windows(r.out[0].sizes, r.in[0].sizes, a)) return plan_on_plain(r);
      return plan_average_backward(r, a, with_padding);
  }
}

}  // namespace lockstep::cpu

// Fully connected layers with plain weights: reordering VGG's 411 MB would cost more
// time than a blocked layout saves.
#include "engine/backends/cpu/cpu_backend.h"
#include "engine/backends/cpu/program.h"

namespace lockstep::cpu {
namespace {

using dnnl::prop_kind;

dnnl::inner_product_forward::primitive_desc forward_desc(const Shape& x, const Shape& w,
                                                         const Shape& y, bool bias,
                                                         bool relu) {
  using dnnl::inner_product_forward;
  const auto desc =
      bias ? inner_product_forward::desc(prop_kind::forward_training, plain(x),
                                         plain(w), plain({w[0]}), plain(y))
           : inner_product_forward::desc(prop_kind::forward_training, plain(x),
                                         plain(w), plain(y));
  return {desc, attributes(relu), engine()};
}

PlanPtr plan_forward(const PlanRequest& r) {
  const Shape &x = r.in[0].sizes, &w = r.in[1].sizes, &y = r.out[0].sizes;
  const bool bias = r.in[2].dtype == DType::f32;
  const auto pd = forward_desc(x, w, y, bias, r.attributes.relu);
  Program program;
  std::vector<Program::Argument> arguments{{DNNL_ARG_SRC, in(0), plain(x)},
                                           {DNNL_ARG_WEIGHTS, in(1), plain(w)},
                                           {DNNL_ARG_DST, out(0), plain(y)}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, in(2), plain({w[0]})});
  program.run(pd, dnnl::inner_product_forward(pd), arguments);
  return program.finish({});
}

PlanPtr plan_backward_data(const PlanRequest& r) {
  const Shape &dy = r.in[0].sizes, &w = r.in[1].sizes, &x = r.out[0].sizes;
  const dnnl::inner_product_backward_data::desc desc(plain(x), plain(w), plain(dy));
  const dnnl::inner_product_backward_data::primitive_desc pd(
      desc, attributes(), engine(), forward_desc(x, w, dy, false, false));
  Program program;
  program.run(pd, dnnl::inner_product_backward_data(pd),
              {{DNNL_ARG_DIFF_DST, in(0), plain(dy)},
               {DNNL_ARG_WEIGHTS, in(1), plain(w)},
               {DNNL_ARG_DIFF_SRC, out(0), plain(x)}});
  return program.finish({});
}

PlanPtr plan_backward_weight(const PlanRequest& r) {
  const Shape &x = r.in[0].sizes, &dy = r.in[1].sizes, &w = r.out[0].sizes;
  const bool bias = r.out.size() > 1;
  using dnnl::inner_product_backward_weights;
  const auto desc =
      bias ? inner_product_backward_weights::desc(plain(x), plain(w), plain({w[0]}),
                                                  plain(dy))
           : inner_product_backward_weights::desc(plain(x), plain(w), plain(dy));
  const inner_product_backward_weights::primitive_desc pd(
      desc, attributes(), engine(), forward_desc(x, w, dy, bias, false));
  Program program;
  std::vector<Program::Argument> arguments{{DNNL_ARG_SRC, in(0), plain(x)},
                                           {DNNL_ARG_DIFF_DST, in(1), plain(dy)},
                                           {DNNL_ARG_DIFF_WEIGHTS, out(0), plain(w)}};
  if (bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, out(1), plain({w[0]})});
  program.run(pd, dnnl::inner_product_backward_weights(pd), arguments);
  return program.finish({});
}

}  // namespace

PlanPtr plan_linear(const PlanRequest& request) {
  switch (request.code) {
    case OpCode::linear:
      return plan_forward(request);
    case OpCode::linear_backward_data:
      return plan_backward_data(request);
    default:
      return plan_backward_weight(request);
  }
}

}  // namespace lockstep::cpu

// Fully connected layers with plain weights: reordering VGG's 411 MB would cost more
// time than a blocked layout saves.
#include "engine/backends/cpu/cpu_backend.h"
#include "engine/backends/cpu/program.h"

namespace lockstep::cpu {
namespace {

using dnnl::prop_kind;

/// Whether the product is a norm of all gradients (optim/clip_grad_norm.cpp), which
/// needs float32.
bool is_dot(const Shape& x, const Shape& w) { return x[0] == 1 && w[0] == 1; }

/// How an operand of the product of x and w is read.
Md as_read(const Shape& operand, const Shape& x, const Shape& w) {
  return is_dot(x, w) ? plain(operand) : plain_operand(operand);
}

dnnl::inner_product_forward::primitive_desc forward_desc(const Shape& x, const Shape& w,
                                                         const Shape& y, bool bias,
                                                         bool relu) {
  using dnnl::inner_product_forward;
  const auto desc =
      bias ? inner_product_forward::desc(prop_kind::forward_training, as_read(x, x, w),
                                         as_read(w, x, w), plain({w[0]}), plain(y))
           : inner_product_forward::desc(prop_kind::forward_training, as_read(x, x, w),
                                         as_read(w, x, w), plain(y));
  return {desc, attributes(relu), engine()};
}

/// Returns input `i`, reordered to what the product reads.
Program::Argument operand(Program& program, int name, size_t i, const Shape& sizes,
                          const Md& wanted) {
  return {name, program.as(in(i), plain(sizes), wanted), wanted};
}

PlanPtr plan_forward(const PlanRequest& r) {
  const Shape &x = r.in[0].sizes, &w = r.in[1].sizes, &y = r.out[0].sizes;
  const bool bias = r.in[2].dtype == DType::f32;
  const auto pd = forward_desc(x, w, y, bias, r.attributes.relu);
  Program program;
  std::vector<Program::Argument> arguments{
      operand(program, DNNL_ARG_SRC, 0, x, pd.src_desc()),
      operand(program, DNNL_ARG_WEIGHTS, 1, w, pd.weights_desc()),
      {DNNL_ARG_DST, out(0), plain(y)}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, in(2), plain({w[0]})});
  program.run(pd, dnnl::inner_product_forward(pd), arguments);
  return program.finish({});
}

PlanPtr plan_backward_data(const PlanRequest& r) {
  const Shape &dy = r.in[0].sizes, &w = r.in[1].sizes, &x = r.out[0].sizes;
  const dnnl::inner_product_backward_data::desc desc(plain(x), as_read(w, x, w),
                                                     as_read(dy, x, w));
  const dnnl::inner_product_backward_data::primitive_desc pd(
      desc, attributes(), engine(), forward_desc(x, w, dy, false, false));
  Program program;
  program.run(pd, dnnl::inner_product_backward_data(pd),
              {operand(program, DNNL_ARG_DIFF_DST, 0, dy, pd.diff_dst_desc()),
               operand(program, DNNL_ARG_WEIGHTS, 1, w, pd.weights_desc()),
               {DNNL_ARG_DIFF_SRC, out(0), plain(x)}});
  return program.finish({});
}

PlanPtr plan_backward_weight(const PlanRequest& r) {
  const Shape &x = r.in[0].sizes, &dy = r.in[1].sizes, &w = r.out[0].sizes;
  const bool bias = r.out.size() > 1;
  using dnnl::inner_product_backward_weights;
  const auto desc =
      bias ? inner_product_backward_weights::desc(as_read(x, x, w), plain(w),
                                                  plain({w[0]}), as_read(dy, x, w))
           : inner_product_backward_weights::desc(as_read(x, x, w), plain(w),
                                                  as_read(dy, x, w));
  const inner_product_backward_weights::primitive_desc pd(
      desc, attributes(), engine(), forward_desc(x, w, dy, bias, false));
  Program program;
  std::vector<Program::Argument> arguments{
      operand(program, DNNL_ARG_SRC, 0, x, pd.src_desc()),
      operand(program, DNNL_ARG_DIFF_DST, 1, dy, pd.diff_dst_desc()),
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

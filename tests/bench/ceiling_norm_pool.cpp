// Batch norm, addition, pooling.
#include <algorithm>

#include "ceiling_layers.h"

namespace lockstep::bench {

using dnnl::algorithm;
using dnnl::prop_kind;
using Dims = dnnl::memory::dims;

Tensor Net::batch_norm(const Tensor& x, bool relu) {
  using Flags = dnnl::normalization_flags;
  const Flags flags =
      relu ? Flags::use_scale_shift | Flags::fuse_norm_relu : Flags::use_scale_shift;
  const int64_t channels = x.md.dims()[1];
  const dnnl::batch_normalization_forward::primitive_desc pd(
      {prop_kind::forward_training, x.md, 1e-5f, flags}, user_scratchpad(),
      program_.engine());

  const Tensor scale_shift = parameter(plain_layout({2, channels}), 0, 1);
  float* shift = program_.data(scale_shift) + channels;
  std::fill(shift, shift + channels, 0.0f);
  const Tensor mean = program_.make(pd.mean_desc());
  const Tensor variance = program_.make(pd.variance_desc());
  const Tensor y = program_.make(pd.dst_desc());
  Arguments arguments = {{DNNL_ARG_SRC, x},
                         {DNNL_ARG_SCALE_SHIFT, scale_shift},
                         {DNNL_ARG_MEAN, mean},
                         {DNNL_ARG_VARIANCE, variance},
                         {DNNL_ARG_DST, y}};
  const Tensor mask = relu ? program_.make(pd.workspace_desc()) : Tensor{};
  if (relu) arguments.push_back({DNNL_ARG_WORKSPACE, mask});
  program_.call<dnnl::batch_normalization_forward>(pd, arguments);

  const Tensor running_mean = program_.keep(mean.md);
  const Tensor running_variance = program_.keep(mean.md);
  const auto d = x.md.dims();
  const float m = float(d[0] * d[2] * d[3]), unbiased = m / (m - 1);
  program_.call(
      [=, this] {
        float *rm = program_.data(running_mean), *rv = program_.data(running_variance);
        const float *bm = program_.data(mean), *bv = program_.data(variance);
        for (int64_t c = 0; c < channels; ++c) {
          rm[c] += 0.1f * (bm[c] - rm[c]);
          rv[c] += 0.1f * (bv[c] * unbiased - rv[c]);
        }
      },
      {mean, variance, running_mean, running_variance});

  tape_.push_back([=, this] {
    const Tensor dy = take_gradient(y, x.md);
    const dnnl::batch_normalization_backward::primitive_desc back(
        {prop_kind::backward, x.md, x.md, 1e-5f, flags}, user_scratchpad(),
        program_.engine(), pd);
    // In place, unless an addition shares this gradient with its other input.
    const Tensor dx = relu ? dy : program_.make(x.md);
    const Tensor grad = program_.make(scale_shift.md);
    Arguments args = {{DNNL_ARG_SRC, x},
                      {DNNL_ARG_MEAN, mean},
                      {DNNL_ARG_VARIANCE, variance},
                      {DNNL_ARG_SCALE_SHIFT, scale_shift},
                      {DNNL_ARG_DIFF_DST, dy},
                      {DNNL_ARG_DIFF_SRC, dx},
                      {DNNL_ARG_DIFF_SCALE_SHIFT, grad}};
    if (relu) args.push_back({DNNL_ARG_WORKSPACE, mask});
    program_.call<dnnl::batch_normalization_backward>(back, args);
    gradient_of_parameter(scale_shift, grad);
    give_gradient(x, dx);
  });
  return y;
}

Tensor Net::add_relu(const Tensor& a, const Tensor& other) {
  const Tensor b = program_.as(other, a.md);
  dnnl::post_ops ops;
  ops.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
  auto attr = user_scratchpad();
  attr.set_post_ops(ops);
  const dnnl::binary::primitive_desc pd({algorithm::binary_add, a.md, b.md, a.md}, attr,
                                        program_.engine());
  program_.call<dnnl::binary>(
      pd, {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, a}});
  tape_.push_back([=, this] {
    const Tensor dy = take_gradient(a, a.md);
    relu_backward(a, dy);
    give_gradient(a, dy);
    give_gradient(other, dy);  // shared: neither input may overwrite it
  });
  return a;
}

Tensor Net::max_pool(const Tensor& x, int kernel, int stride, int pad) {
  const Dims in = x.md.dims(), k = {kernel, kernel}, s = {stride, stride};
  const Dims p = {pad, pad};
  const Dims out = {in[0], in[1], (in[2] + 2 * pad - kernel) / stride + 1,
                    (in[3] + 2 * pad - kernel) / stride + 1};
  const dnnl::pooling_forward::primitive_desc pd(
      {prop_kind::forward_training, algorithm::pooling_max, x.md, any_layout(out), s, k,
       p, p},
      user_scratchpad(), program_.engine());
  const Tensor y = program_.make(pd.dst_desc());
  const Tensor where = program_.make(pd.workspace_desc());
  program_.call<dnnl::pooling_forward>(
      pd, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_WORKSPACE, where}});
  tape_.push_back([=, this] {
    const dnnl::pooling_backward::primitive_desc back(
        {algorithm::pooling_max, x.md, y.md, s, k, p, p}, user_scratchpad(),
        program_.engine(), pd);
    const Tensor dx = program_.make(x.md);
    program_.call<dnnl::pooling_backward>(back,
                                          {{DNNL_ARG_DIFF_DST, take_gradient(y, y.md)},
                                           {DNNL_ARG_WORKSPACE, where},
                                           {DNNL_ARG_DIFF_SRC, dx}});
    give_gradient(x, dx);
  });
  return y;
}

// Views N,C,1,1 in any layout as plain N,C; the gradient is converted back.
Tensor Net::flat_view(const Tensor& x) {
  const Dims d = x.md.dims();
  const Md plain = plain_layout(d);
  Tensor flat = program_.as(x, plain);
  flat.md = plain_layout({d[0], d[1]});
  tape_.push_back([=, this] {
    Tensor grad = take_gradient(flat, flat.md);
    grad.md = plain;
    give_gradient(x, program_.as(grad, x.md));
  });
  return flat;
}

Tensor Net::flat_mean(const Tensor& x) {
  const Dims in = x.md.dims(), k = {in[2], in[3]}, one = {1, 1}, none = {0, 0};
  const auto mean = algorithm::pooling_avg_exclude_padding;
  const dnnl::pooling_forward::primitive_desc pd(
      {prop_kind::forward_training, mean, x.md, any_layout({in[0], in[1], 1, 1}), one,
       k, none, none},
      user_scratchpad(), program_.engine());
  const Tensor y = program_.make(pd.dst_desc());
  program_.call<dnnl::pooling_forward>(pd, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}});
  tape_.push_back([=, this] {
    const dnnl::pooling_backward::primitive_desc back(
        {mean, x.md, y.md, one, k, none, none}, user_scratchpad(), program_.engine(),
        pd);
    const Tensor dx = program_.make(x.md);
    program_.call<dnnl::pooling_backward>(
        back, {{DNNL_ARG_DIFF_DST, take_gradient(y, y.md)}, {DNNL_ARG_DIFF_SRC, dx}});
    give_gradient(x, dx);
  });
  return flat_view(y);
}

}  // namespace lockstep::bench

// The head, the loss, and the weight update.
#include <algorithm>
#include <cmath>

#include "ceiling_layers.h"

namespace lockstep::bench {

using dnnl::prop_kind;
using Dims = dnnl::memory::dims;
using Forward = dnnl::inner_product_forward;
using BackwardData = dnnl::inner_product_backward_data;
using BackwardWeights = dnnl::inner_product_backward_weights;

namespace {

// One bit of a counter-based hash (lowbias32): a stateless random bit for dropout.
bool coin(uint32_t round, uint32_t index) {
  uint32_t x = index + 0x9e3779b9u * (round + 1);
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return (x >> 16) & 1;
}

}  // namespace

// AdaptiveAvgPool2d(k) repeats a 1x1 map; torchvision's VGG does so for 32x32 images.
Tensor Net::flat_spread(const Tensor& x, int side) {
  const Tensor flat = flat_view(x);
  const Dims d = flat.md.dims();
  const int64_t count = d[0] * d[1], k = int64_t(side) * side;
  const Tensor y = program_.make(plain_layout({d[0], d[1] * k}));
  program_.call(
      [=, this] {
        const float* from = program_.data(flat);
        float* to = program_.data(y);
#pragma omp parallel for
        for (int64_t i = 0; i < count; ++i) std::fill_n(to + i * k, k, from[i]);
      },
      {flat, y});
  tape_.push_back([=, this] {
    const Tensor dy = take_gradient(y, y.md), dx = program_.make(flat.md);
    program_.call(
        [=, this] {
          const float* from = program_.data(dy);
          float* to = program_.data(dx);
#pragma omp parallel for
          for (int64_t i = 0; i < count; ++i) {
            float sum = 0;
            for (int64_t j = 0; j < k; ++j) sum += from[i * k + j];
            to[i] = sum;
          }
        },
        {dy, dx});
    give_gradient(flat, dx);
  });
  return y;
}

Tensor Net::linear(const Tensor& x, int out, bool relu_dropout) {
  const Dims in = x.md.dims();
  const Dims weights = {out, in[1]}, result = {in[0], out};
  auto attr = user_scratchpad();
  if (relu_dropout) {
    dnnl::post_ops ops;
    ops.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    attr.set_post_ops(ops);
  }
  const Md bias = plain_layout({out});
  const Forward::primitive_desc pd({prop_kind::forward_training, x.md,
                                    any_layout(weights), bias, plain_layout(result)},
                                   attr, program_.engine());
  const Tensor w = parameter(pd.weights_desc(), relu_dropout ? 0.01f : 0.03f);
  const Tensor b = parameter(bias, 0);
  const Tensor y = program_.make(pd.dst_desc());
  program_.call<Forward>(pd, {{DNNL_ARG_SRC, x},
                              {DNNL_ARG_WEIGHTS, w},
                              {DNNL_ARG_BIAS, b},
                              {DNNL_ARG_DST, y}});
  const int64_t count = in[0] * out;
  if (relu_dropout)
    program_.call(
        [=, this] {
          float* v = program_.data(y);
#pragma omp parallel for
          for (int64_t i = 0; i < count; ++i)
            v[i] = coin(dropout_round, uint32_t(i)) ? 2 * v[i] : 0;
        },
        {y});

  tape_.push_back([=, this] {
    const Tensor dy = take_gradient(y, y.md);
    if (relu_dropout)  // y is 0 where ReLU or dropout blocks the gradient
      program_.call(
          [=, this] {
            const float* v = program_.data(y);
            float* g = program_.data(dy);
#pragma omp parallel for
            for (int64_t i = 0; i < count; ++i) g[i] = v[i] > 0 ? 2 * g[i] : 0;
          },
          {y, dy});
    const BackwardData::primitive_desc data({x.md, any_layout(weights), dy.md},
                                            user_scratchpad(), program_.engine(), pd);
    const Tensor dx = program_.make(x.md);
    program_.call<BackwardData>(
        data, {{DNNL_ARG_DIFF_DST, dy},
               {DNNL_ARG_WEIGHTS, program_.as(w, data.weights_desc())},
               {DNNL_ARG_DIFF_SRC, dx}});
    give_gradient(x, dx);
    const BackwardWeights::primitive_desc pdw({x.md, any_layout(weights), bias, dy.md},
                                              user_scratchpad(), program_.engine(), pd);
    const Tensor dw = program_.make(pdw.diff_weights_desc()), db = program_.make(bias);
    program_.call<BackwardWeights>(pdw, {{DNNL_ARG_SRC, x},
                                         {DNNL_ARG_DIFF_DST, dy},
                                         {DNNL_ARG_DIFF_WEIGHTS, dw},
                                         {DNNL_ARG_DIFF_BIAS, db}});
    gradient_of_parameter(w, dw);
    gradient_of_parameter(b, db);
  });
  return y;
}

void Net::cross_entropy(const Tensor& logits) {
  const int64_t n = logits.md.dims()[0], classes = logits.md.dims()[1];
  const Tensor grad = program_.make(logits.md);
  program_.call(
      [=, this] {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) {
          const float* row = program_.data(logits) + i * classes;
          float* d = program_.data(grad) + i * classes;
          const int label = int(program_.data(labels)[i]);
          const double top = *std::max_element(row, row + classes);
          double total = 0;
          for (int64_t c = 0; c < classes; ++c) total += std::exp(row[c] - top);
          for (int64_t c = 0; c < classes; ++c)
            d[c] = float((std::exp(row[c] - top) / total - (c == label)) / double(n));
          sum += top + std::log(total) - row[label];
        }
        loss = sum / double(n);
      },
      {logits, grad, labels});
  tape_.push_back([=, this] { give_gradient(logits, grad); });
}

// PyTorch's SGD, fused: g += wd w; m = 0.9 m + g; w -= lr m.
void Net::sgd(float lr, float decay) {
  for (const Parameter& p : parameters)
    program_.call(
        [=, this] {
          float *w = program_.data(p.value), *m = program_.data(p.momentum);
          const float* g = program_.data(p.grad);
          const int64_t count = int64_t(p.count);
#pragma omp parallel for simd if (count > 1 << 15)
          for (int64_t i = 0; i < count; ++i) {
            m[i] = 0.9f * m[i] + (g[i] + decay * w[i]);
            w[i] -= lr * m[i];
          }
        },
        {p.value, p.momentum, p.grad});
}

}  // namespace lockstep::bench

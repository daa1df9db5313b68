// Convolutions and the accumulation of gradients.
#include "ceiling_layers.h"

#include <cmath>

namespace lockstep::bench {

using dnnl::algorithm;
using dnnl::prop_kind;
using Dims = dnnl::memory::dims;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

namespace {

// Requests Winograd explicitly, because the algorithm that `convolution_auto` selects
// depends on batch size and thread count. Falls back to direct convolution.
template <typename Make>
auto winograd_or_direct(bool winograd, Make make) {
  if (winograd) {
    try {
      return make(algorithm::convolution_winograd);
    } catch (const dnnl::error&) {
    }
  }
  return make(algorithm::convolution_direct);
}

}  // namespace

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;  // copies share it: never modify a copy
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

Md any_layout(const Dims& dims) {
  return Md(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
}

Md plain_layout(const Dims& dims) {
  using tag = dnnl::memory::format_tag;
  const tag plain[] = {tag::a, tag::ab, tag::abc, tag::abcd};
  return Md(dims, dnnl::memory::data_type::f32, plain[dims.size() - 1]);
}

Tensor Net::input(int n, int c, int h, int w) {
  images = program_.keep(plain_layout({n, c, h, w}));
  labels = program_.keep(plain_layout({n}));
  return images;
}

// Generated in plain order and then reordered, so that the padding of blocks stays
// zero.
Tensor Net::parameter(const Md& layout, float deviation, float constant) {
  const Tensor value = program_.keep(layout);
  const Md plain = plain_layout(layout.dims());
  std::vector<float> draw(plain.get_size() / sizeof(float), constant);
  std::normal_distribution<float> normal(0, 1);
  if (deviation > 0)
    for (float& v : draw) v = deviation * normal(random_);
  dnnl::memory from(plain, program_.engine(), draw.data());
  dnnl::memory to(layout, program_.engine(), program_.raw(value));
  dnnl::stream stream(program_.engine());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  parameters.push_back(
      {value, program_.keep(layout), Tensor{}, layout.get_size() / sizeof(float)});
  return value;
}

void Net::gradient_of_parameter(const Tensor& value, const Tensor& grad) {
  for (Parameter& p : parameters)
    if (p.value.buffer == value.buffer) p.grad = program_.as(grad, value.md);
}

// Each gradient is taken exactly once, so an in-place layer may overwrite it.
Tensor Net::take_gradient(const Tensor& t, const Md& layout) {
  const Tensor grad = gradients_.at(t.buffer);
  gradients_.erase(t.buffer);
  return program_.as(grad, layout);
}

void Net::give_gradient(const Tensor& t, Tensor grad) {
  const auto found = gradients_.find(t.buffer);
  if (found != gradients_.end()) {  // second use of t: adds in place
    grad = program_.as(grad, t.md);
    const Tensor older = program_.as(found->second, t.md);
    dnnl::binary::primitive_desc pd({algorithm::binary_add, grad.md, older.md, grad.md},
                                    user_scratchpad(), program_.engine());
    program_.call<dnnl::binary>(
        pd, {{DNNL_ARG_SRC_0, grad}, {DNNL_ARG_SRC_1, older}, {DNNL_ARG_DST, grad}});
  }
  gradients_[t.buffer] = grad;
}

void Net::relu_backward(const Tensor& y, const Tensor& grad) {
  const auto relu = algorithm::eltwise_relu_use_dst_for_bwd;
  dnnl::eltwise_forward::primitive_desc hint({prop_kind::forward_training, relu, y.md},
                                             user_scratchpad(), program_.engine());
  dnnl::eltwise_backward::primitive_desc pd({relu, grad.md, y.md}, user_scratchpad(),
                                            program_.engine(), hint);
  program_.call<dnnl::eltwise_backward>(
      pd, {{DNNL_ARG_DST, y}, {DNNL_ARG_DIFF_DST, grad}, {DNNL_ARG_DIFF_SRC, grad}});
}

Tensor Net::conv(const Tensor& x, const ConvSpec& spec) {
  const Dims in = x.md.dims();
  const int64_t k = spec.kernel, s = spec.stride, p = spec.pad;
  const Dims weights = {spec.out, in[1], k, k};
  const Dims out = {in[0], spec.out, (in[2] + 2 * p - k) / s + 1,
                    (in[3] + 2 * p - k) / s + 1};
  const bool winograd =
      winograd_ && k == 3 && s == 1 && p == 1 && in[1] % 16 == 0 && spec.out % 16 == 0;
  auto attr = user_scratchpad();
  if (spec.relu) {
    dnnl::post_ops ops;
    ops.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
    attr.set_post_ops(ops);
  }
  const Md bias = spec.bias ? plain_layout({spec.out}) : Md();
  const auto pd = winograd_or_direct(winograd, [&](algorithm a) {
    return Forward::primitive_desc(
        {prop_kind::forward_training, a, any_layout(in), any_layout(weights), bias,
         any_layout(out), Dims{s, s}, Dims{p, p}, Dims{p, p}},
        attr, program_.engine());
  });
  // torchvision's initialization: He, fan-out.
  const float deviation = std::sqrt(2.0f / float(spec.out * k * k));
  const Tensor w = parameter(pd.weights_desc(), deviation);
  const Tensor b = spec.bias ? parameter(bias, 0) : Tensor{};
  const Tensor src = program_.as(x, pd.src_desc()), y = program_.make(pd.dst_desc());
  Arguments arguments = {{DNNL_ARG_SRC, src}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}};
  if (spec.bias) arguments.push_back({DNNL_ARG_BIAS, b});
  program_.call<Forward>(pd, arguments);
  tape_.push_back([=, this] { conv_backward(x, w, b, y, spec, pd); });
  return y;
}

void Net::conv_backward(const Tensor& x, const Tensor& w, const Tensor& b,
                        const Tensor& y, const ConvSpec& spec,
                        const Forward::primitive_desc& forward) {
  const Md in = any_layout(x.md.dims()), out = any_layout(y.md.dims());
  const Md weights = any_layout(w.md.dims()), bias = spec.bias ? b.md : Md();
  const Dims stride = {spec.stride, spec.stride}, pad = {spec.pad, spec.pad};
  const bool winograd = winograd_ && spec.kernel == 3 && spec.stride == 1 &&
                        spec.pad == 1 && x.md.dims()[1] % 16 == 0 && spec.out % 16 == 0;
  const Tensor dy = take_gradient(y, y.md);
  if (spec.relu) relu_backward(y, dy);

  if (x.buffer != images.buffer) {  // the gradient of the images is not needed
    const auto pd = winograd_or_direct(winograd, [&](algorithm a) {
      return BackwardData::primitive_desc({a, in, weights, out, stride, pad, pad},
                                          user_scratchpad(), program_.engine(),
                                          forward);
    });
    const Tensor dx = program_.make(pd.diff_src_desc());
    program_.call<BackwardData>(
        pd, {{DNNL_ARG_DIFF_DST, program_.as(dy, pd.diff_dst_desc())},
             {DNNL_ARG_WEIGHTS, program_.as(w, pd.weights_desc())},
             {DNNL_ARG_DIFF_SRC, dx}});
    give_gradient(x, dx);
  }

  const auto pd = winograd_or_direct(winograd, [&](algorithm a) {
    return BackwardWeights::primitive_desc(
        {a, in, weights, bias, out, stride, pad, pad}, user_scratchpad(),
        program_.engine(), forward);
  });
  const Tensor dw = program_.make(pd.diff_weights_desc());
  Arguments arguments = {{DNNL_ARG_SRC, program_.as(x, pd.src_desc())},
                         {DNNL_ARG_DIFF_DST, program_.as(dy, pd.diff_dst_desc())},
                         {DNNL_ARG_DIFF_WEIGHTS, dw}};
  const Tensor db = spec.bias ? program_.make(b.md) : Tensor{};
  if (spec.bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, db});
  program_.call<BackwardWeights>(pd, arguments);
  gradient_of_parameter(w, dw);
  if (spec.bias) gradient_of_parameter(b, db);
}

void Net::backward() {
  for (auto layer = tape_.rbegin(); layer != tape_.rend(); ++layer) (*layer)();
  tape_.clear();
}

}  // namespace lockstep::bench

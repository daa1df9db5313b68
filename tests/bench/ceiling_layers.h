// Layers that add their calls to a Program: forward calls immediately, backward calls
// in backward(). Shapes are NCHW; oneDNN selects the layouts.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "ceiling_program.h"

namespace lockstep::bench {

struct Parameter {
  Tensor value, momentum;  // in the layout of the forward kernel
  Tensor grad;             // same layout; live from its kernel to the update
  size_t count;            // number of floats, including the padding of blocks
};

struct ConvSpec {
  int out, kernel, stride = 1, pad = 0;
  bool bias = false, relu = false;  // relu is fused into the convolution
};

class Net {
 public:
  Net(Program& program, bool winograd) : program_(program), winograd_(winograd) {}

  Tensor input(int n, int c, int h, int w);
  Tensor conv(const Tensor& x, const ConvSpec& spec);
  Tensor batch_norm(const Tensor& x, bool relu);
  Tensor add_relu(const Tensor& a, const Tensor& b);  // in place in a
  Tensor max_pool(const Tensor& x, int kernel, int stride, int pad);
  Tensor flat_mean(const Tensor& x);           // N,C,H,W -> N,C
  Tensor flat_spread(const Tensor& x, int k);  // N,C,1,1 -> N,C*k*k: adaptive pooling
  Tensor linear(const Tensor& x, int out, bool relu_dropout);  // dropout 0.5
  void cross_entropy(const Tensor& logits);

  void backward();                  // adds the whole backward pass
  void sgd(float lr, float decay);  // adds the update; momentum is 0.9

  Tensor images, labels;  // the caller fills both before the first run
  std::vector<Parameter> parameters;
  double loss = 0;             // of the latest forward
  uint32_t dropout_round = 0;  // a different value gives a different mask

 private:
  Tensor parameter(const Md& layout, float deviation, float constant = 0);
  void gradient_of_parameter(const Tensor& value, const Tensor& grad);
  Tensor take_gradient(const Tensor& t, const Md& layout);
  void give_gradient(const Tensor& t, Tensor grad);
  void relu_backward(const Tensor& y, const Tensor& grad);  // in place in grad
  void conv_backward(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& y,
                     const ConvSpec& spec,
                     const dnnl::convolution_forward::primitive_desc& forward);
  Tensor flat_view(const Tensor& x);

  Program& program_;
  bool winograd_;
  std::mt19937 random_{1};
  std::vector<std::function<void()>> tape_;
  std::unordered_map<int, Tensor> gradients_;  // keyed by the buffer of the value
};

// Each call adds a net, its loss, backward and update; `features` has the images'
// shape.
struct Shape {
  int size, classes;
};
Shape shape_of(const std::string& net);  // throws for an unknown name
void build(Net& net, const std::string& name, int batch);

// Shared helpers.
dnnl::primitive_attr user_scratchpad();
Md any_layout(const dnnl::memory::dims& dims);
Md plain_layout(const dnnl::memory::dims& dims);

}  // namespace lockstep::bench

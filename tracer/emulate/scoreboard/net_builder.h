// Adds up a network's tensors, modules and calls, layer by layer.
#pragma once

#include "tracer/emulate/scoreboard/nets.h"

namespace lockstep::tracer {

class NetBuilder {
 public:
  NetBuilder(std::string name, int size) : size_(size) {
    net_.name = std::move(name);
    net_.modules = 1;
    net_.image_bytes = int64_t{4} * 3 * size * size;
  }

  /// A convolution's kernel, stride, padding and groups.
  struct Shape {
    int kernel_h = 1, kernel_w = 1, stride = 1, pad_h = 0, pad_w = 0, groups = 1;
  };
  static Shape square(int kernel, int stride = 1, int pad = -1, int groups = 1) {
    const int padding = pad < 0 ? kernel / 2 : pad;
    return {kernel, kernel, stride, padding, padding, groups};
  }

  NetBuilder& container(int count = 1) {
    net_.modules += count;
    return *this;
  }
  NetBuilder& conv(int in, int out, Shape shape, bool bias) {
    const int height = (size_ + 2 * shape.pad_h - shape.kernel_h) / shape.stride + 1;
    const int64_t numel =
        int64_t{out} * (in / shape.groups) * shape.kernel_h * shape.kernel_w;
    weight(numel, static_cast<double>(numel) * height * height);
    if (bias) net_.parameters.push_back({out, 0});
    size_ = height;
    return layer();
  }
  NetBuilder& norm(int channels) {
    net_.parameters.push_back({channels, 0});
    net_.parameters.push_back({channels, 0});
    net_.buffers += 3;
    return layer();
  }
  /// A convolution without bias, and its normalization.
  NetBuilder& conv_norm(int in, int out, Shape shape) {
    return conv(in, out, shape, false).norm(out);
  }
  NetBuilder& linear(int64_t in, int64_t out) {
    weight(in * out, static_cast<double>(in * out));
    net_.parameters.push_back({out, 0});
    return layer();
  }
  /// A module without parameters: an activation, pooling, dropout.
  NetBuilder& plain(int modules = 1, int calls = 1) {
    net_.modules += modules;
    net_.calls += calls;
    return *this;
  }
  NetBuilder& pool(int kernel, int stride, int pad) {
    size_ = (size_ + 2 * pad - kernel) / stride + 1;
    return plain();
  }
  /// Ends a part that is never cut in two.
  NetBuilder& part() {
    const double all = net_.macs();
    net_.parts.push_back(all - counted_);
    counted_ = all;
    return *this;
  }

  int size() const { return size_; }
  void resize(int size) { size_ = size; }
  Net done() { return part().net_; }

 private:
  NetBuilder& layer() { return plain(); }
  void weight(int64_t numel, double macs) { net_.parameters.push_back({numel, macs}); }

  Net net_;
  int size_;
  double counted_ = 0;
};

/// Inception-v3, in a file of its own.
Net inception_v3();

}  // namespace lockstep::tracer

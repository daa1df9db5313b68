// The three nets, as in torchvision (ResNet18 with the 3x3 stem for 32x32 images).
#include <stdexcept>

#include "ceiling_layers.h"

namespace lockstep::bench {
namespace {

Tensor conv_bn(Net& net, const Tensor& x, int out, int kernel, int stride, bool relu) {
  const Tensor y = net.conv(
      x, {.out = out, .kernel = kernel, .stride = stride, .pad = (kernel - 1) / 2});
  return net.batch_norm(y, relu);
}

// The shortcut is the input, or a 1x1 convolution if the shape changes.
Tensor shortcut(Net& net, const Tensor& x, int out, int stride) {
  if (stride == 1 && x.md.dims()[1] == out) return x;
  return conv_bn(net, x, out, 1, stride, false);
}

Tensor basic_block(Net& net, const Tensor& x, int width, int stride) {
  Tensor y = conv_bn(net, x, width, 3, stride, true);
  y = conv_bn(net, y, width, 3, 1, false);
  return net.add_relu(y, shortcut(net, x, width, stride));
}

Tensor bottleneck(Net& net, const Tensor& x, int width, int stride) {
  Tensor y = conv_bn(net, x, width, 1, 1, true);
  y = conv_bn(net, y, width, 3, stride, true);
  y = conv_bn(net, y, 4 * width, 1, 1, false);
  return net.add_relu(y, shortcut(net, x, 4 * width, stride));
}

using Block = Tensor (*)(Net&, const Tensor&, int, int);

Tensor resnet_stages(Net& net, Tensor x, Block block, const int (&depths)[4]) {
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < depths[stage]; ++i)
      x = block(net, x, 64 << stage, stage > 0 && i == 0 ? 2 : 1);
  return net.flat_mean(x);
}

Tensor resnet18(Net& net, Tensor x) {
  x = conv_bn(net, x, 64, 3, 1, true);
  return net.linear(resnet_stages(net, x, basic_block, {2, 2, 2, 2}), 10, false);
}

Tensor resnet50(Net& net, Tensor x) {
  x = net.max_pool(conv_bn(net, x, 64, 7, 2, true), 3, 2, 1);
  return net.linear(resnet_stages(net, x, bottleneck, {3, 4, 6, 3}), 1000, false);
}

Tensor vgg16(Net& net, Tensor x) {
  const int depths[] = {2, 2, 3, 3, 3}, widths[] = {64, 128, 256, 512, 512};
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 0; i < depths[stage]; ++i)
      x = net.conv(
          x, {.out = widths[stage], .kernel = 3, .pad = 1, .bias = true, .relu = true});
    x = net.max_pool(x, 2, 2, 0);
  }
  x = net.linear(net.flat_spread(x, 7), 4096, true);
  return net.linear(net.linear(x, 4096, true), 10, false);
}

}  // namespace

Shape shape_of(const std::string& net) {
  if (net == "resnet18" || net == "vgg16") return {32, 10};
  if (net == "resnet50") return {224, 1000};
  throw std::runtime_error("no net " + net + "; there are resnet18, vgg16, resnet50");
}

void build(Net& net, const std::string& name, int batch) {
  const int size = shape_of(name).size;
  const Tensor x = net.input(batch, 3, size, size);
  net.cross_entropy(name == "resnet18" ? resnet18(net, x)
                    : name == "vgg16"  ? vgg16(net, x)
                                       : resnet50(net, x));
}

}  // namespace lockstep::bench

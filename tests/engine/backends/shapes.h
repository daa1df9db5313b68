// The convolutions of the nets, and layers in the layout that convolutions produce.
#pragma once

#include "tests/engine/values.h"

namespace lockstep::test {

struct Convolution {
  int64_t batch, in, out, kernel, stride, padding, size;
  bool bias = false;
  std::string str() const {
    return testing::PrintToString(
               std::vector{batch, in, out, kernel, stride, padding, size}) +
           (bias ? " bias" : "");
  }
};

/// All distinct convolutions of ResNet18 on 32×32 images.
inline const Convolution kResNet18[] = {
    {4, 3, 64, 3, 1, 1, 32},    {4, 64, 64, 3, 1, 1, 32},   {4, 64, 128, 3, 2, 1, 32},
    {4, 64, 128, 1, 2, 0, 32},  {4, 128, 128, 3, 1, 1, 16}, {4, 128, 256, 3, 2, 1, 16},
    {4, 128, 256, 1, 2, 0, 16}, {4, 256, 256, 3, 1, 1, 8},  {4, 256, 512, 3, 2, 1, 8},
    {4, 256, 512, 1, 2, 0, 8},  {4, 512, 512, 3, 1, 1, 4}};

/// All distinct convolutions of VGG16 on 32×32 images.
inline const Convolution kVgg16[] = {
    {4, 3, 64, 3, 1, 1, 32, true},   {4, 64, 64, 3, 1, 1, 32, true},
    {4, 64, 128, 3, 1, 1, 16, true}, {4, 128, 128, 3, 1, 1, 16, true},
    {4, 128, 256, 3, 1, 1, 8, true}, {4, 256, 256, 3, 1, 1, 8, true},
    {4, 256, 512, 3, 1, 1, 4, true}, {4, 512, 512, 3, 1, 1, 4, true},
    {4, 512, 512, 3, 1, 1, 2, true}};

/// Some convolutions of ResNet50 on one 224×224 image.
inline const Convolution kResNet50[] = {
    {1, 3, 64, 7, 2, 3, 224},   {1, 64, 64, 1, 1, 0, 56},
    {1, 64, 256, 1, 1, 0, 56},  {1, 256, 64, 1, 1, 0, 56},
    {1, 128, 128, 3, 2, 1, 56}, {1, 256, 512, 1, 2, 0, 56},
    {1, 256, 256, 3, 1, 1, 14}, {1, 1024, 2048, 1, 2, 0, 14},
    {1, 512, 2048, 1, 1, 0, 7}};

/// Parameters and result of a layer.
struct Layer {
  Tensor x, weight, bias, y;
};

/// A virtual GPU whose kernels use `threads` threads.
inline Device cpu_with_threads(int threads) {
  const Device device{DeviceType::cpu, 10 + threads};
  const int outer = runtime::options().threads_per_device;
  runtime::options().threads_per_device = threads;
  runtime::context(device);  // reads the option on construction
  runtime::options().threads_per_device = outer;
  return device;
}

/// Random values that are exact in float32, so that both precisions get the same input.
inline Tensor rounded(const std::string& stream, const Shape& sizes, DType dtype,
                      double size = 1, double shift = 0) {
  return Tensor::from(values_of(signed_tensor(stream, sizes, size, DType::f32, shift)),
                      sizes, dtype);
}

/// The weight of a 1×1 convolution that changes only the layout.
inline Tensor identity(Device device, DType dtype, int64_t channels) {
  std::vector<double> values(channels * channels);
  for (int64_t i = 0; i < channels; ++i) values[i * channels + i] = 1;
  return on(device, Tensor::from(values, {channels, channels, 1, 1}, dtype));
}

/// A tensor in the layout that a convolution produces.
inline Tensor in_blocks(Device device, const Shape& sizes) {
  return ops::conv2d(on(device, rounded("blocks", sizes, DType::f32)),
                     identity(device, DType::f32, sizes[1]), {}, {});
}

}  // namespace lockstep::test

// Lesson 15's tensors and models.
#pragma once

#include <string>
#include <vector>

#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/optim/sgd.h"
#include "engine/parallel/data_parallel.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons::copied {

using Numbers = std::vector<double>;

constexpr DeviceType kReference = DeviceType::reference;

inline parallel::Devices reference_devices(int count) {
  parallel::Devices devices;
  for (int i = 0; i < count; ++i) devices.push_back({kReference, i});
  return devices;
}

inline Tensor on(Device device, const Tensor& host) {
  return ops::copy_to(host, device, {"h2d", "numbers"});
}

/// Returns tensors of these shapes on `device`; tensor i begins with 100 · i.
inline Tensors numbered(const std::vector<Shape>& shapes, Device device,
                        DType dtype = DType::f64) {
  Tensors tensors;
  for (const Shape& shape : shapes) {
    const double first = 100.0 * static_cast<double>(tensors.size());
    tensors.push_back(on(device, counting(shape, first, dtype)));
  }
  return tensors;
}

/// A model with double-precision parameters, on the first device.
template <typename Make>
inline nn::ModulePtr model_on(Device device, Make make) {
  const nn::ConstructionScope scope({.dtype = DType::f64, .seed = 15});
  nn::ModulePtr model = make();
  model->to(device);
  return model;
}

inline nn::ModulePtr two_layers() {
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Linear>(3, 4), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Linear>(4, 2)});
}

/// Devices that `reduce` was called with.
inline std::vector<std::string> noted_to;

inline Tensors noting_reduce(const std::vector<Tensors>& gradients, Device to) {
  noted_to.push_back(to.str());
  return parallel::reduce_add_coalesced(gradients, to);
}

/// Returns all parameters of a small model after three steps on these devices.
inline Numbers trained_on(int count) {
  const parallel::Devices devices = reference_devices(count);
  const nn::ModulePtr net = model_on(devices[0], two_layers);
  parallel::DataParallel model(net, devices);
  optim::Sgd sgd(net->named_parameters(), {.lr = 0.01});
  Numbers classes;
  for (int i = 0; i < 10; ++i) classes.push_back(i % 2);
  const Tensor labels = on(devices[0], Tensor::from(classes, {10}, DType::i64));
  for (int step = 0; step < 3; ++step) {
    const Tensor loss = ops::cross_entropy(model(counting({10, 3}, step)), labels);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  Numbers all;
  for (const Tensor& parameter : net->parameters()) {
    for (double value : values(parameter)) all.push_back(value);
  }
  return all;
}

}  // namespace lockstep::lessons::copied

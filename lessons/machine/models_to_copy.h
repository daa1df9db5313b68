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
#include "lessons/machine/three_steps.h"

namespace lockstep::lessons::lesson_15 {

using three_steps::Numbers;
using three_steps::on;
using three_steps::reference_devices;

constexpr DeviceType kReference = DeviceType::reference;

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
  return three_steps::trained(net, devices, 3, 2);
}

}  // namespace lockstep::lessons::lesson_15

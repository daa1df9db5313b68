// What lessons 14 and 15 have in common: devices, and a small model after three steps.
#pragma once

#include <vector>

#include "engine/nn/module.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/optim/sgd.h"
#include "engine/parallel/data_parallel.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons::three_steps {

using Numbers = std::vector<double>;

inline parallel::Devices reference_devices(int count) {
  parallel::Devices devices;
  for (int i = 0; i < count; ++i) devices.push_back({DeviceType::reference, i});
  return devices;
}

inline Tensor on(Device device, const Tensor& host) {
  return ops::copy_to(host, device, {"h2d", "numbers"});
}

/// Returns all parameters of `net`, which is on the first device, after three steps
/// with DataParallel on 10 rows of `features` numbers.
inline Numbers trained(const nn::ModulePtr& net, const parallel::Devices& devices,
                       int64_t features, int num_classes) {
  parallel::DataParallel model(net, devices);
  optim::Sgd sgd(net->named_parameters(), {.lr = 0.01});
  Numbers classes;
  for (int i = 0; i < 10; ++i) classes.push_back(i % num_classes);
  const Tensor labels = on(devices[0], Tensor::from(classes, {10}, DType::i64));
  for (int step = 0; step < 3; ++step) {
    const Tensor images = counting({10, features}, step);
    const Tensor loss = ops::cross_entropy(model(images), labels);
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

}  // namespace lockstep::lessons::three_steps

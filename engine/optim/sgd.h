// Stochastic gradient descent with momentum and weight decay.
#pragma once

#include "engine/nn/module.h"

namespace lockstep::optim {

struct SgdOptions {
  double lr = 0.1, momentum = 0.9, weight_decay = 1e-4;
};

/// torch.optim.SGD: d = g + wd·p;  buf = momentum·buf + d (first step: d);  p −=
/// lr·buf. All parameters are updated by one kernel on their device. Source:
/// torch/optim/sgd.py.
class Sgd {
 public:
  Sgd(std::vector<nn::Named<Tensor>> parameters, SgdOptions options);

  /// Parameters without a gradient are left alone.
  void step(std::source_location site = std::source_location::current());
  /// Gradients become undefined (set_to_none, PyTorch 2's default).
  void zero_grad();

  SgdOptions& options() { return options_; }

 private:
  std::vector<nn::Named<Tensor>> parameters_;
  Tensors momentum_buffers_;
  SgdOptions options_;
};

/// The ImageNet example's schedule: lr decays by 10 every 30 epochs.
/// Source: torch.optim.lr_scheduler.StepLR(step_size=30, gamma=0.1).
double step_lr(double base_lr, int epoch, int step_size = 30, double gamma = 0.1);

}  // namespace lockstep::optim

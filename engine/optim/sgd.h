// Stochastic gradient descent with momentum and weight decay.
#pragma once

#include "engine/optim/optimizer.h"

namespace lockstep::optim {

struct SgdOptions {
  double lr = 0.1, momentum = 0.9, weight_decay = 1e-4;
  bool nesterov = false;
  WeightDecays weight_decay_of = {};
};

/// torch.optim.SGD: d = g + wd·p;  buf = momentum·buf + d (first step: d);  p −=
/// lr·buf, with `nesterov` lr·(d + momentum·buf). Source: torch/optim/sgd.py.
class Sgd : public Optimizer {
 public:
  Sgd(std::vector<nn::Named<Tensor>> parameters, SgdOptions options);

 private:
  void update(const Group& group, std::source_location site) override;

  const bool nesterov_;
};

}  // namespace lockstep::optim

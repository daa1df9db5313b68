// Stochastic gradient descent with momentum and weight decay.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/nn/module.h"

namespace lockstep::optim {

struct SgdOptions {
  double lr = 0.1, momentum = 0.9, weight_decay = 1e-4;
  /// Other decays for some parameters, by name; what PyTorch does with parameter groups
  /// (weight_decay.h).
  std::map<std::string, double> weight_decay_of = {};
};

/// torch.optim.SGD: d = g + wd·p;  buf = momentum·buf + d (first step: d);  p −=
/// lr·buf. All parameters of one weight decay are updated by one kernel on their
/// device. Source: torch/optim/sgd.py.
class Sgd {
 public:
  Sgd(std::vector<nn::Named<Tensor>> parameters, SgdOptions options);

  /// Parameters without a gradient are left alone.
  void step(std::source_location site = std::source_location::current());
  /// Gradients become undefined (set_to_none, PyTorch 2's default).
  void zero_grad();

  SgdOptions& options() { return options_; }
  const SgdOptions& options() const { return options_; }

  /// The momentum buffers under their parameters' names; those that exist already.
  std::vector<nn::Named<Tensor>> momentum_buffers() const;
  /// Goes on with these values, on the parameters' device; of a name that is missing,
  /// the next step is the first. REQUIRES: known names, the parameters' shapes.
  void set_momentum_buffers(const std::vector<nn::Named<Tensor>>& buffers);

 private:
  std::vector<nn::Named<Tensor>> parameters_;
  Tensors momentum_buffers_;
  SgdOptions options_;
};

}  // namespace lockstep::optim

// Stochastic gradient descent with momentum and weight decay.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/nn/module.h"

namespace lockstep::optim {

struct SgdOptions {
  double lr = 0.1, momentum = 0.9, weight_decay = 1e-4;
  /// Weight decay by parameter name, like PyTorch's parameter groups
  /// (other_weight_decays).
  std::map<std::string, double> weight_decay_of = {};
};

/// torch.optim.SGD: d = g + wd·p;  buf = momentum·buf + d (first step: d);  p −=
/// lr·buf. All parameters with the same weight decay are updated by one kernel on their
/// device. Source: torch/optim/sgd.py.
class Sgd {
 public:
  Sgd(std::vector<nn::Named<Tensor>> parameters, SgdOptions options);

  /// Updates all parameters that have a gradient.
  void step(std::source_location site = std::source_location::current());
  /// Sets all gradients to undefined (set_to_none, the default in PyTorch 2).
  void zero_grad();

  SgdOptions& options() { return options_; }
  const SgdOptions& options() const { return options_; }

  /// Returns the existing momentum buffers, keyed by parameter name.
  std::vector<nn::Named<Tensor>> momentum_buffers() const;
  /// Sets the momentum buffers to these values, on the parameters' device; those of
  /// parameters not named start from zero. REQUIRES: known names and matching shapes.
  void set_momentum_buffers(const std::vector<nn::Named<Tensor>>& buffers);

 private:
  std::vector<nn::Named<Tensor>> parameters_;
  Tensors momentum_buffers_;
  SgdOptions options_;
};

/// Returns the weight decays that differ from the optimizer's: `norm` for the gamma and
/// beta of batch norms, `bias` for the biases of all other layers. The usual recipe for
/// large batches sets `norm` to 0 and leaves biases unchanged (Goyal et al. 2017,
/// section 5.1); He et al. 2019 set both to 0. Source: `set_weight_decay` in
/// torchvision's reference scripts.
std::map<std::string, double> other_weight_decays(const nn::Module& model,
                                                  std::optional<double> norm,
                                                  std::optional<double> bias);

}  // namespace lockstep::optim

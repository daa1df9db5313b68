// What all optimizers share: the parameters, their state, and one kernel per group.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/nn/module.h"

namespace lockstep::optim {

/// Weight decays by parameter name, like PyTorch's parameter groups
/// (other_weight_decays).
using WeightDecays = std::map<std::string, double>;

/// Updates parameters from their gradients. A parameter's state (SGD's momentum buffer,
/// Adam's averages) is allocated in its first update.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Updates all parameters that have a gradient. Parameters with the same weight decay
  /// and number of updates are updated by one kernel on their device.
  void step(std::source_location site = std::source_location::current());
  /// Sets all gradients to undefined (set_to_none, the default in PyTorch 2).
  void zero_grad();

  double lr() const { return lr_; }
  void set_lr(double lr) { lr_ = lr; }
  /// The decay of the gradient's running average, which OneCycleLR changes with the
  /// learning rate: the momentum of SGD and RMSprop, beta1 of Adam.
  double momentum() const { return momentum_; }
  void set_momentum(double momentum) { momentum_ = momentum; }

  /// The parts of a parameter's state, named as in PyTorch's state_dict:
  /// `momentum_buffer`; `exp_avg`, `exp_avg_sq`, `step`.
  const std::vector<std::string>& state_names() const { return state_names_; }
  /// Returns the existing state as `momentum_buffer.conv1.weight` and so on; `step` is
  /// a host scalar.
  std::vector<nn::Named<Tensor>> state() const;
  /// Replaces the state with copies on the parameters' devices; the state of a
  /// parameter that `state` does not name becomes empty. REQUIRES: `state` has the
  /// names and shapes that `state()` returns and, for each parameter, all parts or
  /// none.
  void set_state(const std::vector<nn::Named<Tensor>>& state);

 protected:
  Optimizer(std::vector<nn::Named<Tensor>> parameters,
            std::vector<std::string> state_names, double lr, double momentum,
            double weight_decay, WeightDecays weight_decay_of);

  /// The parameters of one kernel.
  struct Group {
    Tensors tensors;  ///< for each parameter: itself, its gradient, its state
    Tensors updated;  ///< the parameters
    int64_t step;     ///< 1: their first update, and the state is uninitialized
    double weight_decay;
  };
  virtual void update(const Group& group, std::source_location site) = 0;

 private:
  struct Parameter {
    nn::Named<Tensor> named;
    Tensors state;  ///< empty before the first update
    int64_t steps = 0;
  };
  size_t tensors_of_state() const { return state_names_.size() - counts_steps_; }
  double weight_decay_of(const std::string& name) const;

  std::vector<Parameter> parameters_;
  const std::vector<std::string> state_names_;
  const bool counts_steps_;  ///< `step` is part of the state, as the last name
  double lr_, momentum_;
  const double weight_decay_;
  const WeightDecays weight_decay_of_;
};

/// Returns the weight decays that differ from the optimizer's: `norm` for the gamma and
/// beta of batch norms, `bias` for the biases of all other layers. The usual recipe for
/// large batches sets `norm` to 0 and leaves biases unchanged (Goyal et al. 2017,
/// section 5.1); He et al. 2019 set both to 0. Source: `set_weight_decay` in
/// torchvision's reference scripts.
WeightDecays other_weight_decays(const nn::Module& model, std::optional<double> norm,
                                 std::optional<double> bias);

}  // namespace lockstep::optim

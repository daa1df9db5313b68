// Optimizers that divide each element's step by the size of its recent gradients: Adam,
// AdamW and RMSprop, with PyTorch's options and defaults.
#pragma once

#include <memory>
#include <variant>

#include "engine/optim/sgd.h"

namespace lockstep::optim {

struct AdamOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool amsgrad = false;
  bool decoupled = false;  ///< AdamW; its default weight_decay is kAdamWDecay
  WeightDecays weight_decay_of = {};
};

inline constexpr double kAdamWDecay = 1e-2;

/// torch.optim.Adam (Kingma & Ba, 2015): m and v are running averages of the gradient
/// and of its square; p −= lr · m̂ / (√v̂ + eps). The averages start at zero, which m̂
/// = m / (1 − beta1^step) and v̂ correct for. With `amsgrad`, v̂ is the largest so far.
/// Weight decay is added to the gradient; with `decoupled`, as in torch.optim.AdamW
/// (Loshchilov & Hutter, 2019), the parameter is first multiplied by 1 − lr·decay.
/// Source: torch/optim/adam.py, adamw.py.
class Adam : public Optimizer {
 public:
  Adam(std::vector<nn::Named<Tensor>> parameters, AdamOptions options);

 private:
  void update(const Group& group, std::source_location site) override;

  const AdamOptions options_;
};

struct RmspropOptions {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
  bool centered = false;
  WeightDecays weight_decay_of = {};
};

/// torch.optim.RMSprop (Tieleman & Hinton, 2012): v is a running average of the squared
/// gradient; p −= lr · g / (√v + eps), or with momentum, buf = momentum·buf + that
/// quotient and p −= lr · buf. `centered` replaces v by the variance, v − (average of
/// g)². Source: torch/optim/rmsprop.py.
class Rmsprop : public Optimizer {
 public:
  Rmsprop(std::vector<nn::Named<Tensor>> parameters, RmspropOptions options);

 private:
  void update(const Group& group, std::source_location site) override;

  const RmspropOptions options_;
};

using AnyOptions = std::variant<SgdOptions, AdamOptions, RmspropOptions>;

/// Creates the optimizer to which the options belong.
std::unique_ptr<Optimizer> make_optimizer(std::vector<nn::Named<Tensor>> parameters,
                                          const AnyOptions& options);

}  // namespace lockstep::optim

// Per-parameter weight decay.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/nn/module.h"

namespace lockstep::optim {

/// Returns the weight decays that differ from the optimizer's: `norm` for the gamma and
/// beta of batch norms, `bias` for the biases of all other layers. The usual recipe for
/// large batches sets `norm` to 0 and leaves biases unchanged (Goyal et al. 2017,
/// section 5.1); He et al. 2019 set both to 0. Source: `set_weight_decay` in
/// torchvision's reference scripts.
std::map<std::string, double> other_weight_decays(const nn::Module& model,
                                                  std::optional<double> norm,
                                                  std::optional<double> bias);

}  // namespace lockstep::optim

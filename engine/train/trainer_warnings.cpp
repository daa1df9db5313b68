// What the trainer warns of.
#include <cmath>
#include <cstdio>

#include "engine/train/trainer.h"

namespace lockstep::train {

/// Warns once: a loss that is not finite rarely becomes finite again.
void Trainer::warn_if_diverged(const StepResult& result) {
  const bool known = options_.devices[0].type != DeviceType::emulated;
  if (std::isfinite(result.loss) || !known || warned_ || !options_.warn) return;
  warned_ = true;
  std::fprintf(stderr,
               "lockstep: warning: the loss of training step %lld is %s; the weights "
               "are probably lost; fix: use a lower --lr, or --clip-grad-norm\n",
               static_cast<long long>(result.step),
               std::isnan(result.loss) ? "nan" : "infinite");
}

/// Warns as PyTorch's gather does.
void Trainer::warn_of_scalars() const {
  if (!options_.warn || options_.quiet || options_.devices.size() == 1) return;
  std::fputs(
      "lockstep: warning: Was asked to gather along dimension 0, but all input tensors "
      "were scalars; will instead unsqueeze and return a vector.\n",
      stderr);
}

/// Reports a batch without any valid sample, which takes no part in the training.
void Trainer::say_skipped(const std::string& prefix, int64_t batch, int64_t batches) {
  if (!options_.warn) return;
  std::fprintf(stderr,
               "lockstep: %s[%lld/%lld] skipped: none of %s samples could be loaded\n",
               prefix.c_str(), static_cast<long long>(batch),
               static_cast<long long>(batches), in_step() ? "a rank's" : "its");
}

}  // namespace lockstep::train

// Learning-rate schedules.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep::optim {

/// A pure function of the epoch, and of the update for `one_cycle`, with no state to
/// save or restore.
struct Schedule {
  enum class Kind {
    step,  ///< lr · gamma^⌊epoch / step_size⌋: the ImageNet example's StepLR(30, 0.1)
    multi_step,  ///< lr · gamma^(milestones up to the epoch): MultiStepLR
    cosine,      ///< half a cosine, from lr in the first epoch to nearly 0 in the last
    one_cycle,   ///< OneCycleLR: up to lr and down below where it began, every update
  } kind = Kind::step;
  int step_size = 30;
  double gamma = 0.1;
  std::vector<int> milestones;  ///< epochs after the warm-up
  int epochs = 90;  ///< total number of epochs, including warm-up; for `cosine`
  /// Linear warm-up: the learning rate rises from `warmup_decay` · lr to lr over the
  /// first epochs, followed by the schedule, as in torchvision's reference scripts:
  /// SequentialLR([LinearLR(start_factor=warmup_decay, total_iters=warmup_epochs),
  /// StepLR or CosineAnnealingLR(T_max=epochs − warmup_epochs)]).
  int warmup_epochs = 0;
  double warmup_decay = 0.01;
  /// OneCycleLR's pct_start, div_factor and final_div_factor. It has no warm-up.
  double pct_start = 0.3, div_factor = 25, final_div_factor = 1e4;
};

/// Returns the learning rate for `epoch` (zero-based). Not for `one_cycle`.
/// Source: torch/optim/lr_scheduler.py, `_get_closed_form_lr`.
double lr_of_epoch(const Schedule& schedule, double base_lr, int epoch);

/// What OneCycleLR sets for an update.
struct OneCycle {
  double lr, momentum;  ///< for Adam, `momentum` is beta1
};

/// Returns the values of `one_cycle` for `update` (zero-based) of `updates` in all
/// epochs: the learning rate rises from max_lr / div_factor to max_lr in the first
/// pct_start of them, then falls to a final_div_factor-th of where it began, both along
/// half a cosine. The momentum goes from 0.95 to 0.85 and back. Updates beyond the last
/// have its values, where PyTorch raises an error.
/// Source: torch/optim/lr_scheduler.py, OneCycleLR.
OneCycle one_cycle_at(const Schedule& schedule, double max_lr, int64_t update,
                      int64_t updates);

inline constexpr double kOneCycleMomentum = 0.95;  ///< of its first and last update

/// Scales `lr`, which is for batches of `reference` images, linearly to `batch`.
/// Source: Goyal et al. 2017, section 2.1.
double scaled_lr(double lr, double batch, double reference = 256);

}  // namespace lockstep::optim

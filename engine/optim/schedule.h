// Per-epoch learning-rate schedules.
#pragma once

namespace lockstep::optim {

/// A pure function of the epoch, with no state to save or restore.
struct Schedule {
  enum class Kind {
    step,    ///< lr · gamma^⌊epoch / step_size⌋: the ImageNet example's StepLR(30, 0.1)
    cosine,  ///< half a cosine, from lr in the first epoch to nearly 0 in the last
  } kind = Kind::step;
  int step_size = 30;
  double gamma = 0.1;
  int epochs = 90;  ///< total number of epochs, including warm-up; for `cosine`
  /// Linear warm-up: the learning rate rises from `warmup_decay` · lr to lr over the
  /// first epochs, followed by the schedule, as in torchvision's reference scripts:
  /// SequentialLR([LinearLR(start_factor=warmup_decay, total_iters=warmup_epochs),
  /// StepLR or CosineAnnealingLR(T_max=epochs − warmup_epochs)]).
  int warmup_epochs = 0;
  double warmup_decay = 0.01;
};

/// Returns the learning rate for `epoch` (zero-based).
/// Source: torch/optim/lr_scheduler.py, `_get_closed_form_lr`.
double lr_of_epoch(const Schedule& schedule, double base_lr, int epoch);

/// Scales `lr`, which is for batches of `reference` images, linearly to `batch`.
/// Source: Goyal et al. 2017, section 2.1.
double scaled_lr(double lr, double batch, double reference = 256);

}  // namespace lockstep::optim

// How the learning rate changes from epoch to epoch.
#pragma once

namespace lockstep::optim {

/// A pure function of the epoch: nothing to save, nothing to restore.
struct Schedule {
  enum class Kind {
    step,    ///< lr · gamma^⌊epoch / step_size⌋: the ImageNet example's StepLR(30, 0.1)
    cosine,  ///< half a cosine, from lr at the first epoch to nearly 0 at the last
  } kind = Kind::step;
  int step_size = 30;
  double gamma = 0.1;
  int epochs = 90;  ///< of the whole training, warm-up included; for `cosine`
  /// Linear warm-up: the first epochs climb from `warmup_decay` · lr to lr, and the
  /// schedule begins after them, as in torchvision's references:
  /// SequentialLR([LinearLR(start_factor=warmup_decay, total_iters=warmup_epochs),
  /// StepLR or CosineAnnealingLR(T_max=epochs − warmup_epochs)]).
  int warmup_epochs = 0;
  double warmup_decay = 0.01;
};

/// The learning rate of `epoch` (from 0).
/// Source: torch/optim/lr_scheduler.py, `_get_closed_form_lr`.
double lr_of_epoch(const Schedule& schedule, double base_lr, int epoch);

/// The linear scaling rule: what `lr` becomes when it was meant for batches of
/// `reference` images. Source: Goyal et al. 2017, section 2.1.
double scaled_lr(double lr, double batch, double reference = 256);

}  // namespace lockstep::optim

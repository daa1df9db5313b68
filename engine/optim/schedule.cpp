#include "engine/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lockstep::optim {

double lr_of_epoch(const Schedule& s, double base_lr, int epoch) {
  if (epoch < s.warmup_epochs) {
    const double way = static_cast<double>(epoch) / s.warmup_epochs;
    return base_lr * (s.warmup_decay + (1 - s.warmup_decay) * way);
  }
  epoch -= s.warmup_epochs;
  if (s.kind == Schedule::Kind::step) {
    return base_lr * std::pow(s.gamma, epoch / s.step_size);
  }
  const double length = std::max(1, s.epochs - s.warmup_epochs);
  return base_lr * (1 + std::cos(std::numbers::pi * epoch / length)) / 2;
}

double scaled_lr(double lr, double batch, double reference) {
  return lr * batch / reference;
}

}  // namespace lockstep::optim

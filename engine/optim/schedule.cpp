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
  if (s.kind == Schedule::Kind::multi_step) {
    return base_lr *
           std::pow(s.gamma, std::count_if(s.milestones.begin(), s.milestones.end(),
                                           [&](int at) { return at <= epoch; }));
  }
  const double length = std::max(1, s.epochs - s.warmup_epochs);
  return base_lr * (1 + std::cos(std::numbers::pi * epoch / length)) / 2;
}

namespace {

/// Half a cosine from `start` (at part = 0) to `end` (at 1).
double annealed(double start, double end, double part) {
  return end + (start - end) / 2 * (1 + std::cos(std::numbers::pi * part));
}

}  // namespace

OneCycle one_cycle_at(const Schedule& s, double max_lr, int64_t update,
                      int64_t updates) {
  constexpr double kLowest = 0.85;
  const double first = max_lr / s.div_factor, last = first / s.final_div_factor;
  const double end = static_cast<double>(updates) - 1;
  const double top = s.pct_start * static_cast<double>(updates) - 1;
  const double at = std::min(static_cast<double>(update), end);
  if (at <= top) {
    const double part = top > 0 ? at / top : 1;
    return {annealed(first, max_lr, part), annealed(kOneCycleMomentum, kLowest, part)};
  }
  const double part = (at - top) / (end - top);
  return {annealed(max_lr, last, part), annealed(kLowest, kOneCycleMomentum, part)};
}

double scaled_lr(double lr, double batch, double reference) {
  return lr * batch / reference;
}

}  // namespace lockstep::optim

#include "run/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "engine/distributed/ddp/weight_check.h"
#include "run/checkpoints.h"
#include "run/recipe.h"
#include "run/resume.h"

namespace lockstep::run {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// `--check-weights`: compares before anything else is done with the weights, so that
/// no checkpoint of different ones is written.
void check_weights_of(const RunConfig& c, train::Trainer& trainer) {
  if (c.ddp.check_weights == 0) return;
  trainer.after_update = [&trainer, every = c.ddp.check_weights, updates = int64_t{0},
                          next = trainer.after_update](const train::StepResult& result,
                                                       int64_t batches) mutable {
    if (++updates % every == 0) {
      distributed::check_weights(trainer.model()->named_parameters(),
                                 *trainer.options().group);
    }
    if (next) next(result, batches);
  };
}

/// `--schedule one-cycle`: sets the learning rate and the momentum of every update, the
/// first of which begins with batch `first` of an epoch's `batches`.
void follow_one_cycle(const RunConfig& c, train::Trainer& trainer, int64_t batch_size,
                      int64_t first, int64_t batches) {
  const auto updates = [&](int64_t of_batches) {
    return (of_batches + c.recipe.accumulate - 1) / c.recipe.accumulate;
  };
  const int64_t all = c.recipe.epochs * updates(batches);
  const auto set = [&c, &trainer, batch_size, all](int64_t update) {
    const auto values = one_cycle_at(c.recipe, batch_size, update, all);
    trainer.optimizer().set_lr(values.lr);
    trainer.optimizer().set_momentum(values.momentum);
  };
  int64_t update = c.recipe.start_epoch * updates(batches) + updates(first);
  set(update);
  trainer.after_update = [set, update, next = trainer.after_update](
                             const train::StepResult& result, int64_t done) mutable {
    set(++update);
    if (next) next(result, done);
  };
}

bool averages(train::Trainer& trainer) {
  return trainer.average() && trainer.average()->exists();
}

/// `--steps` has ended the run within an epoch.
void say_what_is_not_kept(const RunConfig& c, const RankPlace& place) {
  const CheckpointConfig& checkpoint = c.checkpoint;
  if (checkpoint.folder.empty() || checkpoint.every > 0 || !place.main()) return;
  fmt::print(
      stderr,
      "lockstep: --steps ended the run within an epoch, of which no checkpoint is "
      "kept; fix: use --checkpoint-steps N\n");
}

}  // namespace

std::string describe_epoch(int epoch, int64_t images, double training, double whole,
                           int epochs_left) {
  std::string line = fmt::format("=> epoch {}: {:.1f} training images/s", epoch,
                                 static_cast<double>(images) / training);
  if (epochs_left < 1) return line;
  const auto left = static_cast<int64_t>(std::llround(whole * epochs_left));
  return line + fmt::format(", about {}:{:02}:{:02} left for {} epoch{}", left / 3600,
                            left / 60 % 60, left % 60, epochs_left,
                            epochs_left == 1 ? "" : "s");
}

int64_t planned_steps(const RunConfig& c, const DataSets& data,
                      const RankPlace& place) {
  const int64_t batch = global_batch(c, place);
  const auto batches = [batch](const data::Dataset& set) {
    return (set.size() + batch - 1) / batch;
  };
  const int64_t of_epoch = (images_per_epoch(c, data, place) + batch - 1) / batch;
  const int64_t limit = c.steps >= 0 ? c.steps : INT64_MAX;
  if (is_toy(c) && !place.group) return std::min(limit, batches(*data.train));
  const int64_t of_test = batches(*data.test) * (c.recipe.ema ? 2 : 1);
  if (c.evaluate) return of_test;
  const bool trains = c.recipe.start_epoch < c.recipe.epochs;
  int64_t steps = trains ? -first_batch(c, data, place) : 0;
  for (int epoch = c.recipe.start_epoch; epoch < c.recipe.epochs; ++epoch) {
    steps += of_epoch;
    if (steps >= limit) return limit;
    steps += of_test;
    if (steps >= limit) return steps;
  }
  return steps;
}

bool train_epochs(const RunConfig& c, train::Trainer& trainer, const DataSets& data,
                  const RankPlace& place) {
  const auto loader = train_loader(c, data, place);
  const TestLoaders test = test_loaders(c, data, place);
  const train::Progress progress = resume(c, trainer, place);
  if (c.evaluate) {
    trainer.validate(*test.share, test.rest.get());
    if (averages(trainer)) trainer.validate_average(*test.share, test.rest.get());
    return true;
  }
  if (c.checkpoint.folder.empty() && c.steps < 0 && place.main() && !c.output.quiet) {
    std::puts(
        "=> no checkpoint is written; --checkpoint DIR writes one after every epoch");
  }
  Checkpoints checkpoints(c, trainer, data, place, progress);
  check_weights_of(c, trainer);
  int64_t first = first_batch(c, data, place);
  const bool cycles = c.recipe.schedule == optim::Schedule::Kind::one_cycle;
  if (cycles) {
    follow_one_cycle(c, trainer, update_batch(c, place), first, loader->size());
  }
  for (int epoch = c.recipe.start_epoch; epoch < c.recipe.epochs; ++epoch, first = 0) {
    checkpoints.begin_epoch(epoch);
    const auto began = Clock::now();
    if (!cycles) trainer.set_lr(lr_of_epoch(c.recipe, update_batch(c, place), epoch));
    const train::EpochResult result =
        trainer.train_epoch(*loader, epoch, c.steps, first);
    const double training = seconds_since(began);
    const int64_t steps = trainer.steps_done();
    const bool all_steps_done = c.steps >= 0 && steps >= c.steps;
    const bool goes_on = result.complete && !all_steps_done;
    const train::EpochResult tested =
        goes_on ? trainer.validate(*test.share, test.rest.get()) : result;
    const bool whole =
        goes_on && tested.complete &&
        (!averages(trainer) ||
         trainer.validate_average(*test.share, test.rest.get()).complete);
    if (!whole) {
      if (trainer.told_to_stop()) {
        checkpoints.stop_in_epoch(result.batches, steps);
      } else if (!result.complete) {
        say_what_is_not_kept(c, place);
      }
      break;
    }
    const bool has_values = computes(c.device.type);
    if (place.main() && !c.output.quiet && c.steps < 0 && has_values && first == 0) {
      std::puts(describe_epoch(epoch, images_per_epoch(c, data, place), training,
                               seconds_since(began), c.recipe.epochs - epoch - 1)
                    .c_str());
    }
    checkpoints.end_epoch(tested);
  }
  return checkpoints.kept();
}

}  // namespace lockstep::run

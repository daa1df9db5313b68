#include "run/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "engine/train/checkpoint.h"
#include "run/recipe.h"

namespace lockstep::run {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// `--resume`: prints what main.py prints. Returns the progress of the training.
train::Progress resume(const RunConfig& c, train::Trainer& trainer,
                       const RankPlace& place) {
  train::Progress progress;
  const std::string& file = c.checkpoint.resume;
  const bool says = place.main() && !c.output.quiet;
  if (!file.empty()) {
    if (says) std::printf("=> loading checkpoint '%s'\n", file.c_str());
    progress = train::load_checkpoint(file, trainer);
    if (says) {
      std::printf("=> loaded checkpoint '%s' (epoch %d)\n", file.c_str(),
                  progress.epoch);
    }
    const std::string& changed = c.checkpoint.changed_recipe;
    if (says && !changed.empty()) {
      std::printf("=> options that differ from the checkpoint: %s\n", changed.c_str());
    }
    if (says && !c.evaluate && progress.epoch >= c.recipe.epochs) {
      std::printf("=> all %d epochs are done; use --epochs N to continue\n",
                  c.recipe.epochs);
    }
  }
  progress.arch = c.model.arch;
  progress.recipe = recipe_of(c);
  return progress;
}

/// Returns false if the disk is full, without ending the training: the older checkpoint
/// still exists, and the next epoch tries again.
bool keep_checkpoint(const train::CheckpointFolder& folder,
                     const train::Snapshot& snapshot, bool is_best) {
  // Writes the best one first: a run killed between the two writes resumes at the start
  // of this epoch and reproduces it.
  bool kept = true;
  for (const auto& path : {folder.best(), folder.newest()}) {
    if (path == folder.best() && !is_best) continue;
    try {
      train::save_checkpoint(path, snapshot);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr,
                   "lockstep: %s; training continues with the older checkpoint\n",
                   error.what());
      kept = false;
    }
  }
  return kept;
}

/// The weights of a model whose test loss is not finite are of no use.
void say_diverged(const train::CheckpointFolder& folder, int epoch, double loss) {
  const bool older = std::filesystem::exists(folder.newest());
  std::fprintf(
      stderr,
      "lockstep: warning: epoch %d ended with a test loss of %s: no checkpoint "
      "is written%s%s\n",
      epoch, std::isnan(loss) ? "nan" : "inf", older ? "; the last finite one is " : "",
      older ? folder.newest().c_str() : "");
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
  if (c.evaluate) return batches(*data.test);
  int64_t steps = 0;
  for (int epoch = c.recipe.start_epoch; epoch < c.recipe.epochs; ++epoch) {
    steps += of_epoch;
    if (steps >= limit) return limit;
    steps += batches(*data.test);
    if (steps >= limit) return steps;
  }
  return steps;
}

bool train_epochs(const RunConfig& c, train::Trainer& trainer, const DataSets& data,
                  const RankPlace& place) {
  const auto loader = train_loader(c, data, place);
  const TestLoaders test = test_loaders(c, data, place);
  train::Progress progress = resume(c, trainer, place);
  if (c.evaluate) {
    trainer.validate(*test.share, test.rest.get());
    return true;
  }
  const bool keeps = !c.checkpoint.folder.empty();
  std::optional<train::CheckpointFolder> folder;
  if (keeps && place.main()) folder.emplace(c.checkpoint.folder);
  if (!keeps && c.steps < 0 && place.main() && !c.output.quiet) {
    std::puts(
        "=> no checkpoint is written; --checkpoint DIR writes one after every epoch");
  }
  bool kept = true;
  for (int epoch = c.recipe.start_epoch; epoch < c.recipe.epochs; ++epoch) {
    const auto began = Clock::now();
    trainer.set_lr(lr_of_epoch(c.recipe, update_batch(c, place), epoch));
    const train::EpochResult result = trainer.train_epoch(*loader, epoch, c.steps);
    const double training = seconds_since(began);
    const bool all_steps_done = c.steps >= 0 && trainer.steps_done() >= c.steps;
    if (!result.complete || all_steps_done) return kept;
    const train::EpochResult tested = trainer.validate(*test.share, test.rest.get());
    if (!tested.complete) return kept;
    const bool computes = c.device.type != DeviceType::null;
    if (place.main() && !c.output.quiet && c.steps < 0 && computes) {
      std::puts(describe_epoch(epoch, images_per_epoch(c, data, place), training,
                               seconds_since(began), c.recipe.epochs - epoch - 1)
                    .c_str());
    }
    progress.epoch = epoch + 1;
    if (!std::isfinite(tested.loss)) {
      if (folder) say_diverged(*folder, epoch, tested.loss);
      continue;
    }
    const bool is_best = tested.acc1 > progress.best_acc1;
    progress.best_acc1 = std::max(tested.acc1, progress.best_acc1);
    if (!keeps) continue;
    const train::Snapshot snapshot = train::take_snapshot(progress, trainer);
    if (folder) kept = keep_checkpoint(*folder, snapshot, is_best);
  }
  return kept;
}

}  // namespace lockstep::run

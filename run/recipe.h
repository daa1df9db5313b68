// What shapes a training, as a checkpoint keeps it, and the learning rate it gives.
#pragma once

#include <string>

#include "run/config.h"

namespace lockstep::run {

/// Returns what shapes the training, flag by flag, as a JSON object: a checkpoint keeps
/// it.
std::string recipe_of(const RunConfig& config);

/// `--resume`: flags that shape the training and were not given take the checkpoint's
/// values, and `--start-epoch` its epoch. Those that were given stay, and are listed in
/// `changed_recipe` if they differ. Throws std::runtime_error if the file is not a
/// checkpoint.
void adopt_checkpoint(RunConfig& config);

/// The learning rate of an epoch, by --lr, --scale-lr, --schedule and --warmup-epochs.
double lr_of_epoch(const RecipeConfig& recipe, int64_t global_batch, int epoch);

}  // namespace lockstep::run

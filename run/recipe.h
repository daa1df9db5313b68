// The training recipe, as stored in checkpoints, and its learning-rate schedule.
#pragma once

#include <string>

#include "run/config.h"

namespace lockstep::run {

/// Returns the training recipe, flag by flag, as a JSON object to be stored in a
/// checkpoint.
std::string recipe_of(const RunConfig& config);

/// `--resume`: recipe flags that were not given take their values from the checkpoint,
/// and the run begins where it ends. Flags that were given keep their values and are
/// listed in `changed_recipe` if they differ. Throws std::runtime_error if the file is
/// not a checkpoint.
void adopt_checkpoint(RunConfig& config);

/// Returns an epoch's learning rate (--lr, --scale-lr, --schedule, --warmup-epochs).
/// Not for `--schedule one-cycle`.
double lr_of_epoch(const RecipeConfig& recipe, int64_t global_batch, int epoch);

/// Returns what `--schedule one-cycle` sets for an update of all `updates`.
optim::OneCycle one_cycle_at(const RecipeConfig& recipe, int64_t global_batch,
                             int64_t update, int64_t updates);

}  // namespace lockstep::run

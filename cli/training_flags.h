// The flags of training for real: checkpoints, schedules, and what shapes the steps.
#pragma once

#include <CLI/CLI.hpp>

namespace lockstep::cli {

struct RunOptions;

void add_training_flags(CLI::App& command, RunOptions& options);

/// Throws UsageError for numbers that make no sense, alone or together.
void validate_training(const RunOptions& options);

/// What shapes the training, flag by flag, as a JSON object: a checkpoint keeps it.
std::string recipe_of(const RunOptions& options);

/// `--resume`: flags that shape the training and were not given take the checkpoint's
/// values, and `--start-epoch` its epoch. Those that were given count, and are said if
/// they differ. Throws std::runtime_error for a file that is no checkpoint.
void adopt_checkpoint(RunOptions& options);

/// The learning rate of an epoch, by --lr, --scale-lr, --schedule and --warmup-epochs.
double lr_of_epoch(const RunOptions& options, int64_t global_batch, int epoch);

}  // namespace lockstep::cli

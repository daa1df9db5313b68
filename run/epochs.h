// The loop over epochs: the part of the ImageNet example's main.py after the setup.
#pragma once

#include "run/data_sets.h"

namespace lockstep::run {

/// Returns the number of steps of train_epochs() or run_notebook(), with evaluation.
int64_t planned_steps(const RunConfig& config, const DataSets& data,
                      const RankPlace& place);

/// Trains and evaluates, starting at `start_epoch` after `--resume`; writes a
/// checkpoint after every epoch. Returns false if the last one could not be written.
bool train_epochs(const RunConfig& config, train::Trainer& trainer,
                  const DataSets& data, const RankPlace& place);

/// Runs the notebook: a model that prints its inputs, in forward passes only.
void run_notebook(const RunConfig& config, train::Trainer& trainer,
                  const DataSets& data, size_t devices);

}  // namespace lockstep::run

// The loop over epochs: the ImageNet example's main.py after the setup.
#pragma once

#include "run/data_sets.h"

namespace lockstep::run {

/// How many steps train_epochs() or run_notebook() will take, evaluation included.
int64_t planned_steps(const RunConfig& config, const DataSets& data,
                      const RankPlace& place);

/// Trains and evaluates from `start_epoch` on, after `--resume`; a checkpoint is kept
/// after every epoch. Returns false if the last one could not be written.
bool train_epochs(const RunConfig& config, train::Trainer& trainer,
                  const DataSets& data, const RankPlace& place);

/// The notebook: a model that prints what it sees, forward passes only.
void run_notebook(const RunConfig& config, train::Trainer& trainer,
                  const DataSets& data, size_t devices);

}  // namespace lockstep::run

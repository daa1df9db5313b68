// Where a run begins: at the first epoch, or where a checkpoint ends.
#pragma once

#include "engine/train/checkpoint.h"
#include "run/config.h"
#include "run/data_sets.h"

namespace lockstep::run {

/// The value of `--resume` that stands for the newest checkpoint of `--checkpoint`.
inline constexpr const char* kResumeAuto = "auto";

/// Resolves `--resume auto`: `checkpoint.resume` becomes the newest checkpoint in the
/// folder of `--checkpoint`, or empty if there is none. A run that was restarted after
/// a failure (TORCHELASTIC_RESTART_COUNT) does so, too, unless the file of `--resume`
/// is further on. Such a checkpoint replaces `--pretrained`, and the steps made before
/// it count for `--steps`. Throws UsageError if there is no folder, or nothing to
/// evaluate, and std::runtime_error if a checkpoint is damaged.
void choose_checkpoint(RunConfig& config);

/// Throws UsageError if the folder of `--checkpoint` has a checkpoint that is further
/// on than the beginning of this run, which would replace it.
void require_no_newer_checkpoint(const RunConfig& config);

/// Loads the checkpoint of `--resume`, if any, into the trainer, and prints what
/// main.py prints. Returns the progress of the training so far. Throws
/// std::runtime_error if the file has changed since the options were taken from it.
train::Progress resume(const RunConfig& config, train::Trainer& trainer,
                       const RankPlace& place);

/// Returns whether all ranks are at the same batch at any time, so that a checkpoint in
/// the middle of an epoch says where all of them continue.
bool resumes_within_epochs(const RunConfig& config);

/// Returns the number of the first batch that the run trains in its first epoch; it is
/// 0 unless the checkpoint was written in the middle of that epoch. Throws
/// std::runtime_error if no batch of this run begins there.
int64_t first_batch(const RunConfig& config, const DataSets& data,
                    const RankPlace& place);

}  // namespace lockstep::run

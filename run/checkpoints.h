// When a run writes its checkpoints: after every epoch, every N optimizer steps, and
// when a signal stops it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/train/checkpoint.h"
#include "run/config.h"
#include "run/data_sets.h"

namespace lockstep::run {

/// Every rank has one and calls the same functions at the same step; rank 0 writes.
/// A file that cannot be written does not end the training: the older checkpoint still
/// exists. Not thread-safe.
class Checkpoints {
 public:
  /// Without `--checkpoint`, nothing is written. Otherwise creates and locks the
  /// folder, and hooks into the trainer's updates if `--checkpoint-steps` is given.
  /// `progress` is that of the training so far. The other arguments must outlive this
  /// object. Throws std::runtime_error if the folder cannot be created or is in use.
  Checkpoints(const RunConfig& config, train::Trainer& trainer, const DataSets& data,
              const RankPlace& place, const train::Progress& progress);
  ~Checkpoints();
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// To be called before the training of an epoch.
  void begin_epoch(int epoch);

  /// To be called when a signal stops the run before the end of an epoch, in which the
  /// batch `next` would have come next: writes a checkpoint. `steps`: those of this run
  /// without the epoch's evaluation, which will be repeated.
  void stop_in_epoch(int64_t next, int64_t steps);

  /// To be called after an epoch and its evaluation: writes a checkpoint, unless the
  /// test loss is not finite.
  void end_epoch(const train::EpochResult& tested);

  /// Returns whether the last checkpoint could be written; true if there was none.
  bool kept() const { return kept_; }

 private:
  void after_update(const train::StepResult& result, int64_t next);
  void keep_within_epoch(int64_t next, int64_t steps);
  void save(const std::filesystem::path& path, const train::Snapshot& snapshot);
  void warn_of_loss(const std::string& what) const;
  int64_t samples_before(int64_t batch) const;

  const RunConfig& config_;
  train::Trainer& trainer_;
  const bool keeps_, says_;
  const int64_t batch_;         ///< samples per batch, of all ranks
  const int64_t epoch_;         ///< samples per epoch
  const int64_t steps_before_;  ///< made by the runs that this one continues
  train::Progress now_;         ///< where the training is; written to each checkpoint
  train::Progress written_;     ///< of the last checkpoint, or of the one resumed
  std::optional<train::Progress> in_file_;         ///< what this run has written last
  std::optional<train::CheckpointFolder> folder_;  ///< of rank 0
  int64_t updates_ = 0;                            ///< optimizer steps of this run
  bool kept_ = true;
};

}  // namespace lockstep::run

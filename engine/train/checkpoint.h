// Checkpoints: everything needed to resume a training run as if it had never stopped.
//
// See checkpoint_header.h for the file format.
#pragma once

#include <string>

#include "engine/train/checkpoint_header.h"
#include "engine/train/named_tensors.h"
#include "engine/train/trainer.h"

namespace lockstep::train {

/// A checkpoint in host memory.
struct Snapshot {
  std::vector<data::TensorFileEntry> tensors;
  data::Metadata metadata;
};

/// Waits for the devices. In DDP all ranks must call it; only rank 0 returns tensors.
Snapshot take_snapshot(const Progress& progress, Trainer& trainer);

/// Writes the file atomically: an existing file is kept until the new one is complete.
/// Throws std::runtime_error if the file cannot be written.
void save_checkpoint(const std::string& path, const Snapshot& snapshot);

/// Restores trainer, optimizer and dropout from the checkpoint; in DDP, on every rank.
/// Throws std::runtime_error naming the file, the tensor and the fix, without changing
/// anything, if the file is not a checkpoint, is damaged, or is for another model.
Progress load_checkpoint(const std::string& path, Trainer& trainer);

/// Reads only the progress, without the tensors.
Progress read_progress(const std::string& path);

}  // namespace lockstep::train

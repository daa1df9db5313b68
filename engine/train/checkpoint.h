// Checkpoints: all that a training run needs to continue as if it had never stopped.
//
// checkpoint_header.h describes the file.
#pragma once

#include <string>

#include "engine/train/checkpoint_header.h"
#include "engine/train/named_tensors.h"
#include "engine/train/trainer.h"

namespace lockstep::train {

/// A checkpoint in the host's memory.
struct Snapshot {
  std::vector<data::TensorFileEntry> tensors;
  data::Metadata metadata;
};

/// Waits for the devices. In DDP all ranks must call it; only rank 0's has tensors.
Snapshot take_snapshot(const Progress& progress, Trainer& trainer);

/// Writes the file atomically: an older one stays until the new one is whole. Throws
/// std::runtime_error if it cannot be written.
void save_checkpoint(const std::string& path, const Snapshot& snapshot);

/// Sets trainer, optimizer and dropout to the checkpoint's state; in DDP on every rank.
/// Throws std::runtime_error that names the file, the tensor and the fix, and changes
/// nothing, for a file that is not a checkpoint, is damaged, or is of another model.
Progress load_checkpoint(const std::string& path, Trainer& trainer);

/// Reads the progress alone, without the tensors.
Progress read_progress(const std::string& path);

}  // namespace lockstep::train

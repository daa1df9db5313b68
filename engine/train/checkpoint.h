// Checkpoints: all that a training run needs to go on as if it had never stopped.
//
// The file is told in checkpoint_header.h.
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

/// Waits for the devices. In DDP all ranks call it, and only rank 0's has tensors.
Snapshot take_snapshot(const Progress& progress, Trainer& trainer);

/// The file appears whole or not at all; an older one stays until then. Throws
/// std::runtime_error where it cannot be written.
void save_checkpoint(const std::string& path, const Snapshot& snapshot);

/// Brings trainer, optimizer and dropout to the checkpoint's state; in DDP on every
/// rank. Throws std::runtime_error naming the file, the tensor and the fix, for a
/// file that is no checkpoint, damaged, or of another model; then nothing has changed.
Progress load_checkpoint(const std::string& path, Trainer& trainer);

/// The progress alone, without reading the tensors.
Progress read_progress(const std::string& path);

}  // namespace lockstep::train

// Checkpoints: all that a training run needs to go on as if it had never stopped.
//
// One safetensors file. Its tensors are the model's, under torchvision's names, and
// `optimizer.momentum_buffer.NAME` for each parameter that has one; the rest is JSON in
// the header's metadata under `lockstep`:
//
//   {"checkpoint": 1, "arch": "resnet18", "epoch": 3, "best_acc1": 71.5,
//    "recipe": {…}, "dropout_calls": [12, 12], "ready_order": [61, 60, …],
//    "checksums": {"conv1.weight": "9f…", …}}
//
// Names know no wrapper, and momentum exists once, however many devices train: so a
// checkpoint moves between single, DP and DDP and any number of devices. The
// sampler's and the augmentation's random numbers are functions of seed and epoch and
// need no place here. Rank 0's running statistics are kept, as DDP broadcasts them.
#pragma once

#include <string>

#include "engine/train/named_tensors.h"
#include "engine/train/trainer.h"

namespace lockstep::train {

/// How far training has come.
struct Progress {
  std::string arch;
  int epoch = 0;  ///< the next one to train
  double best_acc1 = 0;
  std::string recipe = "{}";  ///< the flags that shape the training: a JSON object
};

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
/// rank. Throws std::runtime_error naming the file, the tensor and the mend, for a
/// file that is no checkpoint, damaged, or of another model; then nothing has changed.
Progress load_checkpoint(const std::string& path, Trainer& trainer);

/// The progress alone, without reading the tensors.
Progress read_progress(const std::string& path);

/// Is it a checkpoint's metadata? Is that tensor none of the model's?
bool is_checkpoint(const data::Metadata& metadata);
bool is_optimizers(const std::string& name);

}  // namespace lockstep::train

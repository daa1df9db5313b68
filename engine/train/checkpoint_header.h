// The metadata of a checkpoint.
//
// One safetensors file. Its tensors are the model's, under torchvision's names, and
// `optimizer.momentum_buffer.NAME` for each parameter that has one; the rest is JSON in
// the header's metadata under `lockstep`:
//
//   {"checkpoint": 1, "arch": "resnet18", "epoch": 3, "best_acc1": 71.5,
//    "recipe": {…}, "dropout_calls": [12, 12], "ready_order": [61, 60, …],
//    "checksums": {"conv1.weight": "9f…", …}}
//
// Names contain no wrapper, and momentum exists once, for any number of devices: so a
// checkpoint moves between single, DP and DDP and any number of devices. The
// sampler's and the augmentation's random numbers are functions of seed and epoch and
// need no place here. Rank 0's running statistics are kept, as DDP broadcasts them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/data/safetensors.h"

namespace lockstep::train {

/// The progress of training.
struct Progress {
  std::string arch;
  int epoch = 0;  ///< the next one to train
  double best_acc1 = 0;
  std::string recipe = "{}";  ///< the flags that shape the training: a JSON object
};

struct CheckpointHeader {
  Progress progress;
  std::vector<int64_t> dropout_calls;  ///< of each device
  std::vector<size_t> ready_order;     ///< DDP; else empty
  std::map<std::string, std::string>
      checksums;  ///< of each tensor: FNV-1a, hexadecimal
};

/// Returns a file's metadata. REQUIRES: `progress.recipe` is a JSON object.
data::Metadata format_header(const CheckpointHeader& header);

/// Parses untrusted metadata. Throws std::runtime_error, one line that names `path` and
/// the fix, if it is not a checkpoint's or is inconsistent.
CheckpointHeader parse_header(const data::Metadata& metadata, const std::string& path);

/// Return whether it is a checkpoint's metadata, and whether a tensor is not the
/// model's.
bool is_checkpoint(const data::Metadata& metadata);
bool is_optimizers(const std::string& name);

}  // namespace lockstep::train

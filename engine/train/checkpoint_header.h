// The metadata of a checkpoint.
//
// A checkpoint is one safetensors file. It contains the model's tensors, under
// torchvision's names, and the optimizer's state under PyTorch's, such as
// `optimizer.momentum_buffer.NAME` for each parameter that has one. The rest is JSON in
// the header's metadata, under the key `lockstep`:
//
//   {"checkpoint": 1, "arch": "resnet18", "epoch": 3, "samples": 0, "steps": 117,
//    "best_acc1": 71.5, "recipe": {…}, "dropout_calls": [12, 12],
//    "ready_order": [61, 60, …],
//    "checksums": {"conv1.weight": "9f…", …}, "checksum": "03…"}
//
// `checksum` covers the other members; a file without it is accepted. In the middle of
// an epoch, `samples` of its order have been trained; `checkpoint` is then 2, so that
// versions that do not know this refuse the file.
//
// Names contain no wrapper and the optimizer's state is stored once, so a checkpoint
// can be moved between modes (single, DP, DDP) and device counts. The random numbers of
// the sampler and the augmentation are functions of seed and epoch and are not stored.
// Rank 0's running statistics are stored, since DDP broadcasts them. Local SGD adds
// `"sharing_steps"`, the number of optimizer steps made; rank 0's weights and momentum
// are stored, and after a resume all ranks start from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/data/safetensors.h"

namespace lockstep::train {

/// The progress of a training run.
struct Progress {
  std::string arch;
  int epoch = 0;        ///< the next epoch to train, or the one that has begun
  int64_t samples = 0;  ///< how many of that epoch's have been trained, in its order
  int64_t steps = 0;    ///< made so far, including evaluation; 0 in older files
  double best_acc1 = 0;
  std::string recipe = "{}";  ///< the flags that affect training: a JSON object

  /// Returns whether this state comes before `other` in the same training.
  bool before(const Progress& other) const {
    return std::pair(epoch, samples) < std::pair(other.epoch, other.samples);
  }
};

struct CheckpointHeader {
  Progress progress;
  std::vector<int64_t> dropout_calls;            ///< one per device
  std::vector<size_t> ready_order;               ///< DDP only; otherwise empty
  std::map<std::string, std::string> checksums;  ///< per tensor: FNV-1a, hexadecimal
  int64_t sharing_steps = 0;                     ///< see sharing::Sharing::steps_done
};

/// Returns the file's metadata. REQUIRES: `progress.recipe` is a JSON object.
data::Metadata format_header(const CheckpointHeader& header);

/// Parses untrusted metadata. Throws std::runtime_error with a single line naming
/// `path` and the fix if it does not belong to a checkpoint or is inconsistent.
CheckpointHeader parse_header(const data::Metadata& metadata, const std::string& path);

inline const std::string kMomentum = "optimizer.momentum_buffer.";

/// Returns the checksum of a tensor's bytes.
std::string checksum(const data::TensorFileEntry& entry);

/// `features.module.0.weight` → `features.0.weight`: names in files omit wrappers,
/// those of DataParallel and DDP (`module`) and of torch.compile (`_orig_mod`).
std::string without_module(std::string name);

/// Returns whether metadata belongs to a checkpoint.
bool is_checkpoint(const data::Metadata& metadata);

/// What a checkpoint's names begin with that are not the model's: the optimizer's state
/// and the average of the weights.
inline const std::string kOptimizer = "optimizer.", kAverage = "average.";
bool is_models(const std::string& name);

}  // namespace lockstep::train

// Checkpoints: everything needed to resume a training run as if it had never stopped.
//
// See checkpoint_header.h for the file format.
#pragma once

#include <filesystem>
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

/// Waits for the devices. With ranks, all of them must call it; only rank 0 returns
/// tensors.
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

inline constexpr const char* kNewestFile = "checkpoint.safetensors";
inline constexpr const char* kBestFile = "model_best.safetensors";

/// The folder in which a run stores its checkpoints:
/// `checkpoint.safetensors` is the most recent checkpoint, `model_best.safetensors` the
/// one with the best Acc@1 on the test set: the ImageNet example's checkpoint.pth.tar
/// and model_best.pth.tar. Both are always complete, even if the program is killed.
class CheckpointFolder {
 public:
  /// Creates the folder, locks it against other runs until destroyed (or until the
  /// process ends), and removes temporary files left by killed runs. Throws
  /// std::runtime_error if the folder cannot be created or is in use.
  explicit CheckpointFolder(const std::filesystem::path& folder);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  std::filesystem::path newest() const { return folder_ / kNewestFile; }
  std::filesystem::path best() const { return folder_ / kBestFile; }

 private:
  std::filesystem::path folder_;
  int lock_ = -1;
};

}  // namespace lockstep::train

// The folder in which a run stores its checkpoints.
#pragma once

#include <filesystem>

#include "engine/train/checkpoint.h"

namespace lockstep::train {

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

  std::filesystem::path newest() const { return folder_ / "checkpoint.safetensors"; }
  std::filesystem::path best() const { return folder_ / "model_best.safetensors"; }

 private:
  std::filesystem::path folder_;
  int lock_ = -1;
};

}  // namespace lockstep::train

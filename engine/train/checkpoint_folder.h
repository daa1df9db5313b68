// The folder in which a run keeps its checkpoints.
#pragma once

#include <filesystem>

#include "engine/train/checkpoint.h"

namespace lockstep::train {

/// `checkpoint.safetensors` is the newest, `model_best.safetensors` the one with the
/// best Acc@1 on the test set: the ImageNet example's checkpoint.pth.tar and
/// model_best.pth.tar. Both are whole at every moment, however the program ends.
class CheckpointFolder {
 public:
  /// Makes the folder, locks it against other runs until destruction (or the process's
  /// end), and removes temporary files of runs that were killed. Throws
  /// std::runtime_error if it cannot be made or is in use.
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

#include "engine/train/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace lockstep::train {
namespace fs = std::filesystem;
namespace {

/// Matches `.checkpoint.safetensors.3f2c09d1.tmp`; see base/file.h.
bool is_leftover(const std::string& name) {
  return name.ends_with(".tmp") && (name.starts_with(".checkpoint.safetensors.") ||
                                    name.starts_with(".model_best.safetensors."));
}

}  // namespace

CheckpointFolder::CheckpointFolder(const fs::path& folder) : folder_(folder) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    throw std::runtime_error("--checkpoint " + folder_.string() +
                             ": cannot be created: " + error.message());
  }
  lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0 || ::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const std::string why =
        lock_ >= 0 && errno == EWOULDBLOCK
            ? "another run is writing its checkpoints there; fix: choose another folder"
            : std::strerror(errno);
    if (lock_ >= 0) ::close(lock_);
    throw std::runtime_error("--checkpoint " + folder_.string() + ": " + why);
  }
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (is_leftover(entry.path().filename().string())) leftovers.push_back(entry);
  }
  for (const fs::path& leftover : leftovers) fs::remove(leftover, error);
}

CheckpointFolder::~CheckpointFolder() { ::close(lock_); }

}  // namespace lockstep::train

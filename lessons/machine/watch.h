// Waits for a file to be saved.
#pragma once

#include <filesystem>

namespace lockstep::lessons {

/// Detects both ways in which editors save: writing in place, and renaming over the
/// file.
class FileWatch {
 public:
  /// Throws std::runtime_error if the folder cannot be watched.
  explicit FileWatch(const std::filesystem::path& file);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// Blocks until the file has been saved. Returns false if interrupted by a signal.
  bool wait();

 private:
  std::filesystem::path file_;
  int notify_ = -1;
};

}  // namespace lockstep::lessons

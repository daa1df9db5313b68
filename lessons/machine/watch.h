// Waits for a file to be saved.
#pragma once

#include <filesystem>

namespace lockstep::lessons {

/// Sees every way in which editors save: writing in place, or renaming over it.
class FileWatch {
 public:
  /// Throws std::runtime_error if the folder cannot be watched.
  explicit FileWatch(const std::filesystem::path& file);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// Blocks until the file has been saved; false if a signal came instead.
  bool wait();

 private:
  std::filesystem::path file_;
  int notify_ = -1;
};

}  // namespace lockstep::lessons

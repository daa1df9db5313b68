// Files and folders that appear whole or not at all.
//
// What is written goes to a temporary name beside the target and is renamed by
// commit(). Without commit() (an exception, say) the destructor removes it and the
// target stays as it was. Devices such as /dev/full are written to directly.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace lockstep::data {

/// All calls throw std::runtime_error, naming the target and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);

  /// Syncs to disk and renames over the target, which is replaced if it exists.
  void commit();

 private:
  std::filesystem::path target_, temporary_;
  int fd_ = -1;
};

/// A folder to be filled through path(). Folders above it are made as needed.
class AtomicFolder {
 public:
  /// Throws if the target exists and is not an empty folder: it is never replaced.
  explicit AtomicFolder(const std::filesystem::path& target);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// The temporary folder.
  const std::filesystem::path& path() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path target_, temporary_;
};

}  // namespace lockstep::data

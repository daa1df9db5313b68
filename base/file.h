// Files and folders that appear whole or not at all.
//
// What is written goes to a temporary name beside the target (`.NAME.3f2c09d1.tmp`) and
// is renamed by commit(). Without commit(), after an exception for example, the
// destructor removes it and the target stays as it was.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/fd.h"

struct gzFile_s;

namespace lockstep {

/// All calls throw std::runtime_error naming the target and the system's reason. One
/// thread at a time.
class AtomicFile {
 public:
  enum class Packing {
    by_name,  ///< gzip where the name ends in `.gz`
    none,
  };

  /// Follows links, so the file that a link names is replaced and not the link. What is
  /// no regular file (/dev/full, a pipe) is written directly.
  explicit AtomicFile(const std::filesystem::path& target,
                      Packing packing = Packing::by_name);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void write(std::span<const std::byte> bytes);

  /// Syncs to disk and renames over the target, which is replaced if it exists.
  void commit();

 private:
  void open(const std::filesystem::path& name, int flags);
  void write_plain(std::string_view bytes);
  [[noreturn]] void fail(int error) const;

  std::filesystem::path named_;      ///< as the caller named it, for messages
  std::filesystem::path target_;     ///< where it ends up
  std::filesystem::path temporary_;  ///< empty when written directly
  Fd fd_;
  gzFile_s* gzip_ = nullptr;
};

/// A folder to be filled through path(). Creates the folders above it as needed.
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

}  // namespace lockstep

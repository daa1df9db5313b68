// Atomically written files and folders: they appear complete or not at all.
//
// Data is written to a temporary file next to the target (`.NAME.3f2c09d1.tmp`);
// commit() renames it to the target. If commit() is not called, for example because of
// an exception, the destructor removes the temporary file and leaves the target
// unchanged.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"

struct gzFile_s;

namespace lockstep {

/// A buffered writer. All calls throw std::runtime_error naming the target and the
/// system error; a full disk may not be reported until commit(). Not thread-safe.
class AtomicFile {
 public:
  enum class Packing {
    by_name,  ///< gzip if the name ends in `.gz`
    none,
  };
  enum class Durability {
    synced,   ///< on disk before it is renamed: survives a power failure
    renamed,  ///< faster, for many small files that can be recreated
  };

  /// Creates the temporary file with default permissions. Follows symbolic links:
  /// commit() replaces the file that a link points to, not the link. An existing target
  /// that is not a regular file (/dev/stdout, a pipe) is written directly.
  explicit AtomicFile(const std::filesystem::path& target,
                      Packing packing = Packing::by_name,
                      Durability durability = Durability::synced);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void write(std::span<const std::byte> bytes);

  /// Syncs the file to disk (if `synced`) and renames it, replacing the target if it
  /// exists. Must be called once; nothing may be written afterwards.
  void commit();

 private:
  void open(const std::filesystem::path& name, int flags);
  void write_plain(std::string_view bytes);
  void write_packed(std::string_view bytes);
  void sync() const;
  void discard();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path named_;      ///< as given by the caller, for messages
  std::filesystem::path target_;     ///< the file to replace
  std::filesystem::path temporary_;  ///< empty if written directly or committed
  const Durability durability_;
  Fd fd_;                     ///< temporary_ or target_; empty with gzip_
  gzFile_s* gzip_ = nullptr;  ///< null if not compressed
  std::string waiting_;       ///< buffered bytes; empty if compressed
};

/// A folder whose files are written to path(). Creates parent folders as needed. All
/// calls throw std::runtime_error naming the target. Not thread-safe.
class AtomicFolder {
 public:
  /// Throws if the target exists and is not an empty folder: data is never replaced.
  explicit AtomicFolder(const std::filesystem::path& target);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// Returns the temporary folder.
  const std::filesystem::path& path() const { return temporary_; }

  /// Renames path() to the target. Does not sync. Must be called at most once.
  void commit();

 private:
  std::filesystem::path target_, temporary_;
};

}  // namespace lockstep

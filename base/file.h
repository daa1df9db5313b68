// Files and folders that appear whole or not at all.
//
// Data goes to a temporary name beside the target (`.NAME.3f2c09d1.tmp`), which
// commit() renames. Without commit(), after an exception for example, the destructor
// removes the temporary file and the target stays as it was.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"

struct gzFile_s;

namespace lockstep {

/// Buffered. All calls throw std::runtime_error naming the target and the system's
/// reason; a full disk may be reported as late as by commit(). Not thread-safe.
class AtomicFile {
 public:
  enum class Packing {
    by_name,  ///< gzip where the name ends in `.gz`
    none,
  };

  /// Creates the temporary file, with default permissions. Follows links: the file that
  /// a link names is replaced, not the link. A target that exists and is not a regular
  /// file (/dev/stdout, a pipe) is written directly.
  explicit AtomicFile(const std::filesystem::path& target,
                      Packing packing = Packing::by_name);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void write(std::span<const std::byte> bytes);

  /// Syncs to disk and renames over the target, replacing it if it exists. Call it
  /// once; nothing may be written afterwards.
  void commit();

 private:
  void open(const std::filesystem::path& name, int flags);
  void write_plain(std::string_view bytes);
  void write_packed(std::string_view bytes);
  void sync() const;
  void discard();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path named_;      ///< as the caller named it, for messages
  std::filesystem::path target_;     ///< the file that is replaced
  std::filesystem::path temporary_;  ///< empty when written directly, or committed
  Fd fd_;                            ///< of temporary_ or target_
  gzFile_s* gzip_ = nullptr;         ///< null when not compressed
  std::string waiting_;              ///< not yet written; empty with gzip_
};

/// A folder whose files are written below path(). Creates the folders above it as
/// needed. All calls throw std::runtime_error naming the target. Not thread-safe.
class AtomicFolder {
 public:
  /// Throws if the target exists and is not an empty folder: it is never replaced.
  explicit AtomicFolder(const std::filesystem::path& target);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// Returns the temporary folder.
  const std::filesystem::path& path() const { return temporary_; }

  /// Renames path() to the target. Does not sync. Call it once.
  void commit();

 private:
  std::filesystem::path target_, temporary_;
};

}  // namespace lockstep

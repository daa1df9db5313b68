// Whole files, plain or gzip. Nothing here knows what a trace is.
#pragma once

#include <string>
#include <string_view>

struct gzFile_s;

namespace lockstep::tracer {

/// The content of a file, unpacked if it is gzip. Throws std::runtime_error naming the
/// file and the mend: not there, not readable, cut off, larger than 2 GiB, or a gzip
/// file that grows more than 1,000-fold past 64 MiB (a bomb, not a trace).
std::string read_whole_file(const std::string& path);

/// A file that appears under its name when it is complete, and not before: written
/// as `PATH.tmp…` and renamed. What is no regular file (/dev/full, a pipe) is written
/// directly. `.gz` at the end of the name compresses.
class AtomicFile {
 public:
  /// Throws std::runtime_error when it cannot be created, as all calls below do.
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();  ///< without `commit` nothing stays behind
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail(int error);

  std::string path_;       ///< as the caller named it, for messages
  std::string target_;     ///< where it ends up, links followed
  std::string temporary_;  ///< empty when written directly
  gzFile_s* file_ = nullptr;
};

}  // namespace lockstep::tracer

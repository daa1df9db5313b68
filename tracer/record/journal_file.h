// The file of a journal, and the blocks in it. Private to this folder.
//
//     JournalStart   4,096 bytes
//     BlockHeader, values; BlockHeader, values; …     each aligned to 64 bytes
//
// The values are those of the recorder's buffers, with addresses of texts, which notes
// explain. The block that is allocated last may be followed by zeros.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tracer/record/buffers.h"

namespace lockstep::tracer {

struct JournalStart {
  static constexpr std::string_view kMagic = "lockstep journal 1\n";
  static constexpr size_t kBytes = 4096;
  std::array<char, 24> magic{};
  uint32_t entry_bytes = sizeof(Entry), arg_bytes = sizeof(Arg);
  std::atomic<int64_t> full_at{
      INT64_MAX};  ///< now_ns; later events are not in the file
};

/// Precedes the text of a note, which is padded to 8 bytes.
struct NoteHeader {
  int64_t number;
  NoteKind kind;
  uint32_t length;
};

/// Not thread-safe. Is deleted when it has been released once, and each block once.
class JournalFile {
 public:
  /// Replaces `path`. Throws std::system_error.
  explicit JournalFile(std::string path);

  /// Returns nullptr if there is no room left on the disk.
  BlockHeader* add_block(BlockKind kind, uint32_t buffer, uint64_t first, size_t bytes);
  void release();
  const std::string& path() const { return path_; }

 private:
  ~JournalFile();
  bool grow(size_t at_least);

  struct Segment {
    char* memory;
    size_t size;
  };
  const std::string path_;
  Fd fd_;
  std::vector<Segment> segments_;
  JournalStart* start_ = nullptr;
  size_t used_ = 0;  ///< of the last segment
  size_t size_ = 0;  ///< of the file
  size_t held_ = 1;  ///< by its opener and its blocks
};

}  // namespace lockstep::tracer

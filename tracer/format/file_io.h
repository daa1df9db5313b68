// Whole files, plain or gzip. Nothing here knows what a trace is.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lockstep::tracer {

/// The content of a file, unpacked if it is gzip. Throws std::runtime_error naming the
/// file and the fix: not there, not readable, cut off, larger than 2 GiB, or a gzip
/// file that grows more than 1,000-fold past 64 MiB (a bomb, not a trace).
std::string read_whole_file(const std::string& path);

/// The text of a file, which `owner` keeps.
struct FileText {
  std::string_view text;
  std::shared_ptr<const void> owner;
};

/// Like `read_whole_file`, but plain files are mapped, so that they need not fit into
/// memory. A plain file larger than `most` is refused, too.
FileText open_file_text(const std::string& path, size_t most = SIZE_MAX);

inline constexpr size_t kMaxText = size_t{2} << 30;

}  // namespace lockstep::tracer

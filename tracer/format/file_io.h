// Reads whole files, plain or gzip. Independent of the trace format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep::tracer {

/// Whether a gzip file that is cut off is an error, or is read as far as it goes (a
/// plain file does not show whether it is whole).
enum class Ending : uint8_t { whole, any };

/// Returns the content of a file, decompressed if it is gzip. Throws std::runtime_error
/// naming the file and the fix if it is missing, unreadable, truncated, larger than 2
/// GiB, or expands more than 1,000-fold past 64 MiB (a bomb, not a trace).
std::string read_whole_file(const std::string& path, Ending ending = Ending::whole);

/// The text of a file, kept alive by `owner`.
struct FileText {
  std::string_view text;
  std::shared_ptr<const void> owner;
};

/// Like `read_whole_file`, but maps large plain files, so that they need not
/// fit into memory. Also rejects a plain file that is larger than `most`.
FileText open_file_text(const std::string& path, size_t most = SIZE_MAX,
                        Ending ending = Ending::whole);

inline constexpr size_t kMaxText = size_t{2} << 30;

}  // namespace lockstep::tracer

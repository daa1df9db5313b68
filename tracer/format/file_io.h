// Whole files, plain or gzip. Nothing here knows what a trace is.
#pragma once

#include <string>

namespace lockstep::tracer {

/// The content of a file, unpacked if it is gzip. Throws std::runtime_error naming the
/// file and the fix: not there, not readable, cut off, larger than 2 GiB, or a gzip
/// file that grows more than 1,000-fold past 64 MiB (a bomb, not a trace).
std::string read_whole_file(const std::string& path);

}  // namespace lockstep::tracer

// Reads a trace file for the Loader. The only place in the viewer that opens trace
// files; the browser passes bytes instead.
#pragma once

#include <string>

#include "tracer/format/file_io.h"

namespace lockstep::gui {

using TraceText = tracer::FileText;

/// Maps uncompressed files, so that they need not fit in memory; decompresses gzip.
/// Throws std::runtime_error naming the file and the fix.
inline TraceText open_trace_text(const std::string& path) {
  return tracer::open_file_text(path);
}

}  // namespace lockstep::gui

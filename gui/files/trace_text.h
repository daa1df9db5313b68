// A trace file's text, ready for the Loader. The only place of the viewer that opens
// trace files; the browser hands over bytes instead.
#pragma once

#include <string>

#include "tracer/format/file_io.h"

namespace lockstep::gui {

using TraceText = tracer::FileText;

/// Plain files are mapped, so that their text need not fit into memory; gzip is
/// unpacked. Throws std::runtime_error naming the file and the fix.
inline TraceText open_trace_text(const std::string& path) {
  return tracer::open_file_text(path);
}

}  // namespace lockstep::gui

// Reads a trace file for the Loader. The only place in the viewer that opens trace
// files; the browser passes bytes instead.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lockstep::gui {

struct TraceText {
  std::string_view text;
  std::shared_ptr<const void> owner;  ///< keeps the text alive
};

/// Maps plain files, so that they need not fit into memory; decompresses gzip. Throws
/// std::runtime_error that names the file and the fix.
TraceText open_trace_text(const std::string& path);

}  // namespace lockstep::gui

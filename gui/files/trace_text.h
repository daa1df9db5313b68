// A trace file's text, ready for the Loader. The only place of the viewer that opens
// trace files; the browser hands over bytes instead.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lockstep::gui {

struct TraceText {
  std::string_view text;
  std::shared_ptr<const void> owner;  ///< keeps it there
};

/// Plain files are mapped, so that their text need not fit into memory; gzip is
/// unpacked. Throws std::runtime_error naming the file and the fix.
TraceText open_trace_text(const std::string& path);

}  // namespace lockstep::gui

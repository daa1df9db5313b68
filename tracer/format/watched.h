// Reading that another thread can stop.
#pragma once

#include <string>

#include "base/work.h"
#include "tracer/format/file_io.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Like `parse_trace(text, name)`. Throws Cancelled if `work` is stopped.
Trace parse_trace(const FileText& text, const std::string& name, const Work& work);

}  // namespace lockstep::tracer

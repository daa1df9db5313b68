// Which text the viewer opens next of the files that it is given.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/kineto/kineto.h"
#include "tracer/record/journal.h"

namespace lockstep::gui {

struct TraceText {
  std::string name;
  std::string_view text;
  std::shared_ptr<const void> owner;
};

/// Files that are still to be opened, in order.
struct TraceFiles {
  std::vector<std::string> paths;
  bool apart = false;  ///< open each on its own, as for a comparison
};

/// Removes from the list what it opens, and returns its text: that of one file, as it
/// is, or of all if they are the ranks of one job, merged (and imported if they are the
/// profiler's). Throws std::runtime_error if a file cannot be read. REQUIRES: the list
/// is not empty.
inline TraceText next_text(TraceFiles& files) {
  const std::string path = files.paths.front();
  if (!files.apart && files.paths.size() > 1) {
    files.apart = true;
    std::string why;
    if (const auto job = tracer::open_job(files.paths, why)) {
      files.paths.clear();
      auto text = std::make_shared<const std::string>(tracer::trace_text(*job));
      const std::string_view view = *text;
      return {path, view, std::move(text)};
    }
    if (!why.empty()) std::fprintf(stderr, "lockstep: not merged: %s\n", why.c_str());
  }
  files.paths.erase(files.paths.begin());
  const auto read = tracer::open_trace_text(path, SIZE_MAX, tracer::Ending::any);
  return {path, read.text, read.owner};
}

}  // namespace lockstep::gui

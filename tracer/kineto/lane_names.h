// What a profiler's file calls its threads.
#pragma once

#include <map>
#include <string>

#include "tracer/format/lanes.h"

namespace lockstep::tracer {

class LaneNames {
 public:
  explicit LaneNames(const Trace& foreign);

  /// Returns a thread's `thread_name` (the first one, if threads share a tid); without
  /// it, the text that the file uses as tid, or `thread 12`.
  std::string of(LaneKey thread) const;

 private:
  std::map<LaneKey, std::string> names_;
  std::map<int64_t, std::string> texts_;
};

}  // namespace lockstep::tracer

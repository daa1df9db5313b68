// Finding events by their id.
#pragma once

#include <unordered_map>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Refers to the trace's events: the trace must outlive it, unchanged.
class Index {
 public:
  explicit Index(const Trace& trace) : trace_(trace) {
    for (size_t i = 0; i < trace.events.size(); ++i) {
      const Event& event = trace.events[i];
      if (event.id != kNone && (event.ph == 'X' || event.ph == 'i')) {
        positions_.emplace(event.id, i);
      }
    }
  }

  /// The `X` event or mark with this id (the first, should there be two), or nullptr.
  const Event* find(int64_t id) const {
    const auto found = positions_.find(id);
    return found == positions_.end() ? nullptr : &trace_.events[found->second];
  }

  /// Its position in `trace.events`; REQUIRES that `find(id)` found one.
  size_t position(int64_t id) const { return positions_.at(id); }

 private:
  const Trace& trace_;
  std::unordered_map<int64_t, size_t> positions_;
};

}  // namespace lockstep::tracer

// An emulated trace, addressed by the names of the recorded events.
#pragma once

#include "tests/tracer/named_trace.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::tracer::testing {

/// Emulates a trace; its events are addressed by their names in the recorded trace.
class Emulated {
 public:
  explicit Emulated(const Trace& recorded, const EmulateOptions& options = {})
      : trace(emulate(recorded, options)), names_(recorded) {}

  const Event& operator[](std::string_view path) const {
    return event_at(trace, names_, path);
  }
  int64_t begin(std::string_view path) const { return (*this)[path].ts; }
  int64_t end(std::string_view path) const { return (*this)[path].end(); }

  const Trace trace;

 private:
  const NamedTrace names_;
};

}  // namespace lockstep::tracer::testing

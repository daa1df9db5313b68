// What each gap on a device's streams waits for: the edge of the timing graph that
// decides when the next task starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A stream does nothing, or a collective waits for its turn, from `begin` to `end`.
struct Binding {
  enum class Kind : uint8_t {
    data,   ///< what the task reads was not ready: a kernel, copy or collective
    order,  ///< its stream runs tasks in order: an earlier collective was not over
    link,   ///< another copy held the port that it needs
    ranks,  ///< another rank had not joined the collective
    host,   ///< the host had not launched it
    core,   ///< it waited for a core, or for nothing that was recorded
  };
  Kind kind = Kind::host;
  int64_t event = kNone;       ///< id of the task that starts then
  int64_t after = kNone;       ///< id of the event whose moment decides, if any
  int64_t begin = 0, end = 0;  ///< ns
};

/// Returns the word of a kind: `data`, `order rule`, `link`, `ranks`, `host`, `core`.
const char* binding_word(Binding::Kind kind);

/// Returns all gaps between tasks of a stream, and how long collectives that were ready
/// waited for their turn, in the order of their ends. A message between ranks is a part
/// of its collective and has none. Throws std::runtime_error on cycles.
std::vector<Binding> find_bindings(const Trace& trace);

}  // namespace lockstep::tracer

// Converts the recorder's buffers to a trace: `collect` creates the events (and
// `retime_events` corrects those of a GPU), `finish_trace` adds the description of the
// run.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/format/trace.h"
#include "tracer/record/device_activity.h"

namespace lockstep::tracer {

/// Returns the events of all threads' buffers, with process and thread names, sorted
/// by time, and empties the buffers. Times are ns since the first `start_recording`
/// (or `set_origin`). Must not be called while any thread is recording.
std::vector<Event> collect();

/// Moves each kernel, copy and collective that has `activities` (times on the events'
/// clock, in any order) to their first begin and last end. Sets `cpu_us` to the time
/// the device was busy and `activities` to their number. Other events keep their times,
/// as does a collective whose messages were measured: it is shared by host and device.
///
/// Preserves the order of streams, dependencies and host waits. The two clocks agree to
/// about a microsecond; if the times contradict the order, the order takes precedence.
void retime_events(std::vector<Event>& events,
                   const std::vector<DeviceActivity>& activities);

/// Description of the recorded program that is stored in a trace.
struct RunFacts {
  std::string command, mode, arch;
  std::vector<std::string> devices;  ///< names; the index is the device's number
  int world_size = 1;                ///< if over 1, device r belongs to rank r
  int rank = 0;                      ///< the rank of this file; −1: all ranks
  std::string backend;               ///< of the process group

  /// A comparison of this rank's clock with rank 0's; see tracer/format/clocks.h.
  struct ClockFact {
    int64_t at_ns = 0, offset_ns = 0, round_trip_ns = 0;
  };
  std::string clock;                   ///< name of the rank's clock; "": its boot's
  std::vector<ClockFact> comparisons;  ///< empty if it is rank 0's clock

  struct TensorFact {
    std::string name, dtype, kind;  ///< kind: parameter or buffer
    std::vector<int64_t> shape;
    int64_t bytes = 0;
  };
  std::vector<TensorFact> tensors;
};

/// Registers the text of a source file under its path relative to the repository root.
/// `text` must outlive all traces of the process. Not thread-safe: call it at startup.
void add_source(std::string_view path, std::string_view text);

/// Returns the text of a registered file, or "" if there is none.
std::string_view source_text(std::string_view path);

/// Returns a trace without events whose `lockstep` and `other` objects describe the
/// run.
Trace describe_run(const RunFacts& facts);

/// The texts of source files, by their path relative to the repository root.
using Sources = std::map<std::string, std::string_view, std::less<>>;
const Sources& registered_sources();

/// Adds to a description what follows from the events: the definition of each called
/// function, the text of every source file that an event refers to, the steps.
Trace finish_trace(Trace description, std::vector<Event> events,
                   const Sources& sources = registered_sources());
inline Trace finish_trace(std::vector<Event> events, const RunFacts& facts) {
  return finish_trace(describe_run(facts), std::move(events));
}

}  // namespace lockstep::tracer

// The small emulator: the same program on the same number of devices, but each device
// on hardware of its own. Every event keeps its place in the graph of what waits for
// what; only durations change.
#pragma once

#include <string>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// How fast a copy is: latency + bytes / bandwidth. One link between any two memories;
/// copies that arrive at the same lane queue up there.
struct Link {
  double gb_per_s = 12;    ///< PCIe 3.0 x16, as measured copies reach it
  double latency_us = 10;  ///< one cudaMemcpyAsync, from call to first byte
};

struct EmulateOptions {
  /// Keep every recorded duration and gap: the result equals the trace, to the
  /// nanosecond. This is the emulator's own test.
  bool measured_durations = false;
  Link link;
};

/// One line that says what the emulated times rest on.
std::string assumptions(const EmulateOptions& options);

/// Re-times a trace. Kernels last the CPU time that they took (`cpu_us`, else `dur`)
/// and wait for no core; copies last what the link says; the host runs as recorded,
/// but its waits end when what they wait for has ended. The result says
/// `clock: emulated` and what was assumed. Throws std::runtime_error when a link is
/// not a positive number, or events wait for each other in a circle.
Trace emulate(const Trace& trace, const EmulateOptions& options = {});

}  // namespace lockstep::tracer

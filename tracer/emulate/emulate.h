// The emulator: the same program on the same number of devices,
// but each device has dedicated hardware. Every event keeps its
// place in the dependency graph; only durations change.
#pragma once

#include <string>

#include "tracer/format/processor.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Duration of a copy: latency + bytes / bandwidth. A device sends one copy at a time
/// and receives one copy at a time; main memory has a link to each device.
struct Link {
  double gb_per_s = 12;    ///< PCIe 3.0 x16, as achieved by measured copies
  double latency_us = 10;  ///< one cudaMemcpyAsync, from call to first byte
  bool operator==(const Link&) const = default;
};

struct Hardware;

struct EmulateOptions {
  /// Keeps every recorded duration and gap: the result equals the
  /// trace to the nanosecond. Used to test the emulator itself.
  bool measured_durations = false;
  Link link;
  /// If set: the links of copies, instead of `link` and one port per direction. Copies
  /// that use a link at the same time share it (shared_links.h).
  const Hardware* hardware = nullptr;
  /// Kernels are this many times as fast as recorded.
  double compute_scale = 1;
  /// The host is this many times as fast as recorded, its wake-ups excepted.
  double host_scale = 1;
  /// Kernels take this many times as long while a collective of their device is in
  /// flight: at least 1.
  double interference = 1;
};

/// Returns the FLOP/s of a trace's kernels: their total FLOPs divided by their total
/// CPU time, including that of kernels without FLOPs. 0 if no kernel records its FLOPs.
double kernel_flops_per_second(const Trace& trace);

/// Returns one line that describes the assumptions behind the emulated times.
std::string assumptions(const EmulateOptions& options,
                        Processor processor = Processor::cores);
/// Returns the line for all programs that are constructed from the trace `recorded`.
std::string assumptions_from(const Trace& recorded, const EmulateOptions& options);

/// Re-times a trace. Kernels last as long as their CPU time (`cpu_us`, else `dur`),
/// divided by `compute_scale`, and do not wait for a core; those that make a rank slow
/// last as slow_ranks.h says; the duration of a copy is given by the link; the host
/// takes its recorded time divided by `host_scale`, but its waits end at most 20 µs
/// after the awaited events. The result contains `clock: emulated` and the assumptions.
/// Throws std::runtime_error if a link or a scale is not a positive number, if the
/// interference is not from 1 to 100, if events wait for each other in a cycle, if the
/// trace is an import (it has no `deps`), or if the hardware has fewer devices than the
/// trace.
Trace emulate(Trace trace, const EmulateOptions& options = {});

}  // namespace lockstep::tracer

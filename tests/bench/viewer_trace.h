// Generates large traces in our writer's format for the viewer's benchmarks. The output
// depends only on the size, byte for byte, on every machine.
#pragma once

#include <cstddef>
#include <string>

namespace lockstep::bench {

struct TraceSize {
  size_t events = 1'000'000;  ///< `X` events and marks, at least this many
  int devices = 4;
  int modules = 500;  ///< called per device and step
};

/// Returns the text of such a trace of DataParallel training, sorted as the format
/// requires. About 270 bytes per event, counters included.
std::string make_trace(const TraceSize& size);

}  // namespace lockstep::bench

// Large traces made by rule, in the form that our writer gives them: what the viewer's
// benchmarks read. The same size gives the same bytes on every machine.
#pragma once

#include <cstddef>
#include <string>

namespace lockstep::bench {

struct TraceSize {
  size_t events = 1'000'000;  ///< `X` events and marks, at least so many
  int devices = 4;
  int modules = 500;  ///< called per device and step
};

/// The text of such a trace: DataParallel training, sorted as the contract wants it.
/// About 290 bytes per event, counters included.
std::string make_trace(const TraceSize& size);

}  // namespace lockstep::bench

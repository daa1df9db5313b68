// Activation checkpointing: what the second forward pass of the blocks costs.
#pragma once

#include <cstdint>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// The kernels that ran again in backward passes, over the whole recording.
struct Recomputed {
  int64_t kernels = 0, time = 0;  ///< ns, on all devices together
  int64_t time_of_all = 0;        ///< … of all kernels
};

/// Finds the kernels that were launched by the calls in `CheckpointFunctionBackward`.
/// The backward passes that follow in it are not counted.
Recomputed recomputed_kernels(const Trace& trace);

}  // namespace lockstep::tracer

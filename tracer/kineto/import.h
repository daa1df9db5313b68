// Converts PyTorch's traces to our format.
#pragma once

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Converts one rank's torch.profiler file to our format: steps, host threads, kernels
/// by device and stream with the operator that launched them, copies with their bytes,
/// NCCL kernels as collectives. `lockstep.imported` lists what was left out and what
/// is missing from such a file (sources, `deps`, model size): `check` does not judge
/// laws that require it, and an event that lacks a fact is marked `imported`. Throws
/// std::runtime_error if nothing in the trace is from PyTorch, or if it is our own.
Trace import_kineto(const Trace& foreign);

}  // namespace lockstep::tracer

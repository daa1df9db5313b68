// PyTorch's traces as ours.
#pragma once

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A file of torch.profiler, one rank's, in our format: steps, host threads, kernels by
/// device and stream with the operator that launched them, copies with their bytes,
/// NCCL's kernels as collectives. `lockstep.imported` says what was left out and what
/// such a file does not tell (sources, `deps`, the model's bytes): `check` does not
/// judge the laws that need it, and an event that lacks a fact says `imported`.
/// Throws std::runtime_error when nothing in the trace is PyTorch's, or it is ours.
Trace import_kineto(const Trace& foreign);

}  // namespace lockstep::tracer

// What runs on a device, in PyTorch's words and in ours: its name and its facts.
#pragma once

#include <string>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// `conv2d [jit:avx2]`, `Memcpy HtoD (Pageable -> Device)`,
/// `ncclKernel_AllReduce_RING_Sum_float`: NCCL's spelling until 2.18, because HTA's
/// search for stragglers knows no other.
std::string kineto_name(const Event& task);

/// What CUPTI would measure of a kernel and nobody did: zeros, where tools want
/// numbers.
Json kernel_placeholders();

/// `bytes`, and between which devices.
Json copy_args(const Event& copy);

/// `Collective name`, `In msg nelems`, … as c10d notes them.
Json collective_args(const Event& collective, int64_t rank, int64_t ranks);

/// The reverse: what NCCL's kernel `from` says, as the arguments of our `collective`.
void name_collective(const Event& from, Event& collective);

}  // namespace lockstep::tracer

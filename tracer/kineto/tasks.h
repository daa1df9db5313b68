// Names and facts of device tasks, in PyTorch's terms and in ours.
#pragma once

#include <string>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Returns, for example, `conv2d [jit:avx2]`, `Memcpy HtoD (Pageable -> Device)`,
/// or `ncclKernel_AllReduce_RING_Sum_float`: NCCL's spelling up to version 2.18,
/// because HTA's straggler search does not recognize any other.
std::string kineto_name(const Event& task);

/// Returns placeholders for the properties of a kernel that
/// CUPTI would have measured, because tools require numbers.
Json kernel_placeholders();

/// Returns `bytes` and the two endpoints of the copy.
Json copy_args(const Event& copy);

/// Returns `Collective name`, `In msg nelems`, … as recorded by c10d.
Json collective_args(const Event& collective, int64_t rank, int64_t ranks);

/// What enclosed the launch of a collective's kernel on the host; nullptr if nothing.
struct CollectiveLaunch {
  const Event* annotation = nullptr;  ///< `nccl:all_to_all`
  const Event* comms = nullptr;       ///< `record_param_comms`
  bool sole = true;  ///< no other kernel was launched there: their sizes are its own
};

/// The reverse: sets the arguments of our `collective` from the kernel `from`. Name and
/// size are those of the kernel's own arguments or else of what enclosed its launch: a
/// kernel's name says SendRecv for every all-to-all. An unknown size is left out.
void name_collective(const Event& from, const CollectiveLaunch& launch,
                     Event& collective);

}  // namespace lockstep::tracer

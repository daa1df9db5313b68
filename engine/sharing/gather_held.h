// Collects on rank 0 what the ranks of a pipeline hold.
#pragma once

#include "engine/distributed/collectives/process_group.h"

namespace lockstep::sharing {

/// Tensor i is like specs[i], and at most one rank holds it: the others pass an
/// undefined one. Returns all of them on rank 0: its own as they are, the others' in
/// host memory, and undefined what no rank holds. Returns an empty list on the others.
/// Must be called by all ranks with the same `specs`; `device` is the rank's. Devices
/// that compute nothing have no values to send.
Tensors gather_held(distributed::ProcessGroup& group, Device device,
                    const std::vector<TensorSpec>& specs, const Tensors& held);

}  // namespace lockstep::sharing

// Do all ranks have the same weights?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/distributed/collectives/process_group.h"
#include "engine/nn/module.h"

namespace lockstep::distributed {

/// Compares the parameters of all ranks, bit by bit, through checksums: one copy of the
/// parameters to the host and one all_gather of eight bytes per parameter. Must be
/// called by all ranks at the same time. Throws std::runtime_error on every rank if
/// they differ; the message names the first parameter that does, the ranks that
/// disagree with the others, and how many more parameters differ. Devices that compute
/// nothing have no weights to compare. Buffers are not compared: each rank's batch norm
/// has statistics of its own until the next forward pass.
void check_weights(const std::vector<nn::Named<Tensor>>& parameters,
                   ProcessGroup& group);

/// Returns that message, given each rank's checksums of the parameters called `names`;
/// "" if all ranks agree. The ranks that disagree are those outside the largest group
/// of equal ones (of two equally large, that of the lower rank).
std::string disagreement_of(const std::vector<std::string>& names,
                            const std::vector<std::vector<int64_t>>& checksums);

}  // namespace lockstep::distributed

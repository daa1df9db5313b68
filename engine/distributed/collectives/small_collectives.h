// Exchange of short lists of numbers between ranks, as collectives on small tensors.
#pragma once

#include <vector>

#include "engine/distributed/collectives/process_group.h"

namespace lockstep::distributed {

/// Each function blocks the host until the result is available. Transfers go through
/// `device`; if it computes nothing, the lists of all ranks are assumed to be equal.
/// `why` is for the trace.
std::vector<int64_t> broadcast_integers(ProcessGroup& group, Device device,
                                        std::vector<int64_t> mine, const char* why);
std::vector<int64_t> sum_integers(ProcessGroup& group, Device device,
                                  std::vector<int64_t> mine, const char* why);
/// Returns rank r's list as row r. All lists must have the same length.
std::vector<std::vector<int64_t>> gather_integers(ProcessGroup& group, Device device,
                                                  const std::vector<int64_t>& mine,
                                                  const char* why);

/// Same as sum_integers, but for double values.
std::vector<double> sum_reals(ProcessGroup& group, Device device,
                              std::vector<double> mine, const char* why);

}  // namespace lockstep::distributed

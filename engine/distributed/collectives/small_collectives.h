// Small lists of numbers between ranks, as collectives of an int64 tensor.
#pragma once

#include <vector>

#include "engine/distributed/collectives/process_group.h"

namespace lockstep::distributed {

/// Each blocks the host until the result is there. `device` carries the numbers; on
/// devices that compute nothing, all ranks count as alike. `why` is for the trace.
std::vector<int64_t> broadcast_integers(ProcessGroup& group, Device device,
                                        std::vector<int64_t> mine, const char* why);
std::vector<int64_t> sum_integers(ProcessGroup& group, Device device,
                                  std::vector<int64_t> mine, const char* why);
/// Row r of the result is rank r's list; all lists must be of one length.
std::vector<std::vector<int64_t>> gather_integers(ProcessGroup& group, Device device,
                                                  const std::vector<int64_t>& mine,
                                                  const char* why);

/// The same sum for real numbers, in double.
std::vector<double> sum_reals(ProcessGroup& group, Device device,
                              std::vector<double> mine, const char* why);

}  // namespace lockstep::distributed

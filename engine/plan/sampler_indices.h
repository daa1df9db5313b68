// Which samples of an epoch each rank reads: PyTorch's `DistributedSampler`. All ranks
// read the same number; otherwise some would wait for gradients that never arrive.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::plan {

/// Returns the number of samples per rank and epoch: length / world, rounded up (some
/// samples are read twice) or, with `drop_last`, rounded down (some are not read).
/// REQUIRES: length ≥ 0, world ≥ 1. Source: torch/utils/data/distributed.py.
int64_t distributed_count(int64_t length, int world, bool drop_last);

/// Returns the samples of one rank: those at positions rank, rank + world, rank + 2 ·
/// world, … in the epoch's `order` (a permutation of the data set, identical on all
/// ranks), repeated as often as padding requires. REQUIRES: 0 ≤ rank < world. Source:
/// torch/utils/data/distributed.py.
std::vector<int64_t> distributed_indices(const std::vector<int64_t>& order, int rank,
                                         int world, bool drop_last);

}  // namespace lockstep::plan

// Which samples a rank reads, as a slot: what the loaders of several ranks ask.
#pragma once

#include <memory>

#include "engine/data/sampler.h"
#include "engine/runtime/slot.h"

namespace lockstep::data {

/// One rank's part of a data set: the arguments of PyTorch's DistributedSampler.
struct Share {
  int64_t length = 0;  ///< of the data set
  int rank = 0, world = 1;
  bool shuffle = true;     ///< false: in the order of the data set
  uint64_t seed = 0;       ///< of the shuffles; all ranks must pass the same
  bool drop_last = false;  ///< read equally many by leaving some out, not by repeating
};

/// Returns the sampler of one rank: a DistributedSampler over a RandomSampler or a
/// SequentialSampler. REQUIRES: length ≥ 0, 0 ≤ rank < world.
std::shared_ptr<const Sampler> make_distributed_sampler(const Share& share);

/// The function that makes the samplers of ranks, in a slot (runtime/slot.h).
using MakeRankSampler = decltype(make_distributed_sampler);
runtime::Slot<MakeRankSampler>& rank_sampler();

}  // namespace lockstep::data

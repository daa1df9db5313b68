#include "engine/data/rank_sampler.h"

namespace lockstep::data {

std::shared_ptr<const Sampler> make_distributed_sampler(const Share& share) {
  std::shared_ptr<const Sampler> all;
  if (share.shuffle) {
    all = std::make_shared<RandomSampler>(share.length, share.seed);
  } else {
    all = std::make_shared<SequentialSampler>(share.length);
  }
  return std::make_shared<DistributedSampler>(all, share.rank, share.world,
                                              share.drop_last);
}

runtime::Slot<MakeRankSampler>& rank_sampler() {
  static runtime::Slot<MakeRankSampler> in_use("rank_sampler",
                                               make_distributed_sampler);
  return in_use;
}

}  // namespace lockstep::data

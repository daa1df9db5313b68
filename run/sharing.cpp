#include "run/sharing.h"

#include <cstdio>

#include "engine/sharing/local_sgd.h"

namespace lockstep::run {

sharing::MakeSharing sharing_of(const RunConfig& c, const RankPlace& place) {
  if (mode_of(c) != train::Mode::local_sgd) return {};
  const sharing::LocalSgdOptions options{c.local_sgd.steps, c.local_sgd.warmup};
  if (options.period == 1 && place.main()) {  // PyTorch warns, too
    std::fputs(
        "lockstep: --local-steps 1 averages the weights after every step, which costs "
        "as much communication as DistributedDataParallel; fix: use --mode ddp\n",
        stderr);
  }
  return [options, group = place.group](nn::Module& model) {
    return std::make_unique<sharing::LocalSgd>(model, group, options);
  };
}

}  // namespace lockstep::run

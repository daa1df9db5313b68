// Flags of the ways of sharing the work; run/validate_modes.cpp lists which mode reads
// which of them.
#include "cli/flags.h"

namespace lockstep::cli {
namespace {

void add_local_sgd_flags(CLI::App& c, run::LocalSgdConfig& o) {
  c.add_option("--local-steps", o.steps,
               "local-sgd: optimizer steps from one average of the weights to the next")
      ->check(Numbers(1, 1 << 30));
  c.add_option("--warmup-steps", o.warmup,
               "local-sgd: number of steps before the first average is due")
      ->check(Numbers(0, 1 << 30));
}

}  // namespace

void add_mode_flags(CLI::App& c, run::RunConfig& o) {
  c.add_flag("--loss-in-forward", o.loss_in_forward,
             "dp-criterion: the replicas compute the loss in forward, and DataParallel "
             "gathers the scalars");
  add_local_sgd_flags(c, o.local_sgd);
}

}  // namespace lockstep::cli

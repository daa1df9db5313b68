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

void add_shared_flags(CLI::App& c, run::SharedConfig& o) {
  add_choice<sharing::UpdateRule>(
      c, "--update", o.update,
      "hogwild: store: load, add, store, which may overwrite the updates of others; "
      "fetch-add: an indivisible addition");
  add_choice<sharing::LockFor>(
      c, "--lock", o.lock,
      "locked: hold the lock for the whole step, or only while "
      "weights are read and while they are updated");
  add_choice<run::Partition>(c, "--partition", o.partition,
                             "hogwild, locked: each worker's own part of the training "
                             "set, or all of it in an order of its own");
}

}  // namespace

void add_mode_flags(CLI::App& c, run::RunConfig& o) {
  add_local_sgd_flags(c, o.local_sgd);
  add_shared_flags(c, o.shared);
}

}  // namespace lockstep::cli

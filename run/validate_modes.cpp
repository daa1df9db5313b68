#include "run/validate_modes.h"

#include <fmt/format.h>

#include <algorithm>

#include "run/environment.h"
#include "run/words.h"

namespace lockstep::run {
namespace {

using train::Mode;

/// A flag, and the modes that read it.
struct Reader {
  const char* flag;
  std::vector<Mode> modes;
};

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all{
      {"--local-steps", {Mode::local_sgd}},
      {"--warmup-steps", {Mode::local_sgd}},
      {"--update", {Mode::hogwild}},
      {"--lock", {Mode::locked}},
      {"--partition", {Mode::hogwild, Mode::locked}},
  };
  return all;
}

/// The shared model is in the memory of one process, and the lock is not held between
/// batches.
void validate_shared(const RunConfig& c) {
  const Mode mode = mode_of(c);
  if (!train::shares_memory(mode)) return;
  const DistributedConfig& d = c.distributed;
  if (d.multiprocessing || d.world_size > 1 || c.environment.is_launched_rank() ||
      meets_by_environment(c)) {
    throw UsageError(
        fmt::format("--mode {} shares weights in the memory of one process, but these "
                    "ranks are processes; fix: use threads: --mode {} --devices N, "
                    "without {}",
                    train::name(mode), train::name(mode),
                    d.multiprocessing                  ? "--multiprocessing-distributed"
                    : c.environment.is_launched_rank() ? "`launch`"
                    : d.world_size > 1                 ? "--world-size"
                                                       : "--dist-url env://"));
  }
  if (mode == Mode::locked && c.shared.lock == sharing::LockFor::step &&
      c.recipe.accumulate > 1) {
    throw UsageError(
        "--lock step holds the lock for one batch, but --accumulate updates the "
        "weights "
        "after several; fix: omit it, or use --lock update");
  }
}

}  // namespace

void validate_flags_of_modes(const RunConfig& c) {
  const Mode mode = mode_of(c);
  for (const auto& [flag, modes] : readers()) {
    const bool reads = std::find(modes.begin(), modes.end(), mode) != modes.end();
    if (reads || !c.given.contains(flag)) continue;
    throw UsageError(
        fmt::format("{} has no effect on --mode {}; fix: omit it, or use "
                    "--mode {}",
                    flag, train::name(mode), train::name(modes[0])));
  }
  validate_shared(c);
}

}  // namespace lockstep::run

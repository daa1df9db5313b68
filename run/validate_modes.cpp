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
      {"--split", {Mode::model_parallel}},
      {"--pipeline-schedule", {Mode::model_parallel}},
      {"--micro-batches", {Mode::model_parallel}},
      {"--virtual-stages", {Mode::model_parallel}},
      {"--schedule-file", {Mode::model_parallel}},
      {"--save-schedule", {Mode::model_parallel}},
  };
  return all;
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
}

}  // namespace lockstep::run

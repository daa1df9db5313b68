// The files that a run will write, checked before it trains.
#pragma once

#include <string>

#include "run/config.h"

namespace lockstep::run {

/// Checks that the requested trace and, if `main`, the summary, the weights and the
/// checkpoints can be written, and that none of them would replace a file that the run
/// reads or another of its outputs. Existing files keep their contents, and nothing is
/// created. Throws std::runtime_error naming the file and the fix, and UsageError as
/// require_no_newer_checkpoint() does.
void require_writable_outputs(const RunConfig& config, bool main);

/// Throws std::runtime_error if `out` is the same file as `input`.
void require_other_file(const std::string& input, const std::string& out);

}  // namespace lockstep::run

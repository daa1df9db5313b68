// The flags of a training run.
#pragma once

#include <CLI/CLI.hpp>

#include "run/config.h"

namespace lockstep::cli {

/// Declares the flags of `train`. `config` must outlive the parsing.
void add_run_flags(CLI::App& command, run::RunConfig& config);

}  // namespace lockstep::cli

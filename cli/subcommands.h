// Commands that consist of others: `trace summary`, `data make`.
#pragma once

#include <CLI/CLI.hpp>

namespace lockstep::cli {

/// Asks for one of the command's subcommands; for another word (a typing error, say)
/// throws a UsageError that names it and those that there are.
void require_known_subcommand(CLI::App& command);

}  // namespace lockstep::cli

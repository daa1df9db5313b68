// Spellings that Python's argparse accepts but CLI11 does not.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lockstep::cli {

/// Rewrites the words of `train` so that command lines of the ImageNet example work:
/// `-a=resnet18`, and the beginning of a long flag (`--batch 8`) if only one flag
/// begins with it. Throws UsageError if several do.
void read_like_argparse(const CLI::App& app, std::vector<std::string>& words);

}  // namespace lockstep::cli

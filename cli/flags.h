// Helpers shared by the commands' flags.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "run/words.h"

namespace lockstep::cli {

/// Checks that a number is in a range.
using Numbers = CLI::Range;

/// Adds a flag that accepts one of several words and stores the corresponding value.
/// CLI11's CheckedTransformer does this too, but also accepts the enum's integer values
/// and prints them in --help.
template <typename Enum, typename Value>
CLI::Option* add_choice(CLI::App& command, const std::string& names, Value& value,
                        const std::string& help,
                        const run::Words<Enum>& choices = run::words<Enum>()) {
  std::vector<std::string> allowed;
  std::string shown;
  for (const auto& [word, meaning] : choices) {
    allowed.emplace_back(word);
    if (value == meaning) shown = word;
  }
  const auto store = [&value, choices](const std::string& given) {
    for (const auto& [word, meaning] : choices) {
      if (word == given) value = meaning;
    }
  };
  auto* option = command.add_option_function<std::string>(names, store, help);
  option->check(CLI::IsMember(allowed));
  if (command.option_defaults()->get_always_capture_default()) {
    option->default_str(shown);
  }
  return option;
}

/// Declares the flags of `train` (run_flags.cpp). `config` must outlive the parsing.
void add_run_flags(CLI::App& command, run::RunConfig& config);
/// Declares those of the ways of sharing the work (mode_flags.cpp).
void add_mode_flags(CLI::App& command, run::RunConfig& config);
/// Declares those of pipelines, but not `--save-schedule`.
void add_pipeline_flags(CLI::App& command, run::PipelineConfig& pipeline);
/// Reads `--schedule 1f1b` and the other names of pipeline schedules as
/// `--pipeline-schedule 1f1b`: no learning rate schedule has such a name.
void tell_schedules_apart(std::vector<std::string>& words);

/// Requires one of the command's subcommands. For any other word (a typo, say), throws
/// a UsageError naming the word and listing the available subcommands.
void require_known_subcommand(CLI::App& command);

}  // namespace lockstep::cli

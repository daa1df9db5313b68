// What the commands' flags share.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "run/words.h"

namespace lockstep::cli {

/// Adds a flag whose value is one of some words, and stores what the word means. CLI11
/// has CheckedTransformer for this, but that also takes the enum's numbers, and prints
/// them in --help.
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

/// Asks for one of the command's subcommands; for another word (a typing error, say)
/// throws a UsageError that names it and those that there are.
void require_known_subcommand(CLI::App& command);

}  // namespace lockstep::cli

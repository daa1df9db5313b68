// The program's commands. Each adds itself to the command line and, when chosen, runs
// and returns the exit code: 0 done, 1 failed (one line says what and the fix).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "run/usage_error.h"

namespace lockstep::cli {

using run::UsageError;

/// What the chosen command will do; set while the command line is parsed.
using Action = std::function<int()>;

void add_train(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_emulate(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
void add_demo(CLI::App& app, Action& action);
void add_launch(CLI::App& app, Action& action, const std::vector<std::string>& started);
/// Takes what `launch` is to start off the command line.
std::vector<std::string> cut_launched_command(std::vector<std::string>& words);
void add_doctor(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_lesson(CLI::App& app, Action& action);
void add_experiment(CLI::App& app, Action& action);
void add_view(CLI::App& app, Action& action);
/// Commands of the contract that are not built yet: they say so and fail.
void add_planned(CLI::App& app, Action& action);

/// `lockstep view` with these traces; `at` as --at, or empty. Throws where there is no
/// display.
int view_traces(const std::vector<std::string>& files, const std::string& at);
/// The same as one picture.
int picture_of_trace(const std::string& file, const std::string& at,
                     const std::string& png);

}  // namespace lockstep::cli

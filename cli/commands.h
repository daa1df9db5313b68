// The program's commands. Each registers itself with the command line and, if selected,
// runs and returns the exit code: 0 on success, 1 on failure (one line states the fix).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "run/environment.h"

namespace lockstep::cli {

using run::UsageError;

/// What the selected command will run; set while the command line is parsed.
using Action = std::function<int()>;

void add_train(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_emulate(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
void add_demo(CLI::App& app, Action& action);
void add_launch(CLI::App& app, Action& action, const std::vector<std::string>& started);
/// Removes the command to be started by `launch` from `words` and returns it.
std::vector<std::string> cut_launched_command(std::vector<std::string>& words);
void add_doctor(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_bench_host(CLI::App& app, Action& action);
inline constexpr char kLessonHelp[] = "start, check and solve the exercises";
inline constexpr char kExperimentHelp[] =
    "repeat published studies: several runs, a table and a plot";
inline constexpr char kLogHelp[] =
    "compare training logs of lockstep or main.py: times, loss, accuracy";
void add_lesson(CLI::App& app, Action& action);
void add_experiment(CLI::App& app, Action& action);
void add_log(CLI::App& app, Action& action);
void add_view(CLI::App& app, Action& action);
/// Registers the commands that are planned but not implemented; they print a message
/// and fail.
void add_planned(CLI::App& app, Action& action);

/// Runs `lockstep view` on these traces. Throws if there is no display.
int view_traces(const std::vector<std::string>& files);
/// Renders the view of one at a position, the value of --at, as an image.
int picture_of_trace(const std::string& file, const std::string& at,
                     const std::string& png);

}  // namespace lockstep::cli

// The program's commands. Each adds itself to the command line and, when chosen, runs
// and returns the exit code: 0 done, 1 failed (one line says what and the fix).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>
#include <string>

#include "tracer/format/trace.h"

namespace lockstep::cli {

struct RunOptions;

/// Wrong usage: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

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

/// `lockstep train` with these options; returns its exit code. If `trace` is given it
/// receives what was recorded.
int run_training(RunOptions& options, tracer::Trace* trace = nullptr);

/// `lockstep view` with these traces; `at` as --at, or empty. Throws where there is no
/// display.
int view_traces(const std::vector<std::string>& files, const std::string& at);
/// The same as one picture.
int picture_of_trace(const std::string& file, const std::string& at,
                     const std::string& png);

/// The command line as one string, for the trace.
extern std::string command_line;

}  // namespace lockstep::cli

// The program's entry point.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/limits.h"
#include "base/program.h"
#include "cli/argparse.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "engine/train/trainer.h"
#include "lessons/machine/judge.h"
#include "run/printable.h"
#include "tracer/record/collect.h"
#include "tracer/record/embedded.h"
#include "tracer/record/traceback.h"

namespace lockstep::cli {

namespace {

/// Stops training after the current step. A second Ctrl-C ends the program at once; a
/// second SIGTERM does not, since batch systems repeat it.
void on_interrupt(int signal) {
  static std::atomic<int> interrupts{0};
  train::Trainer::stop_signal = signal;
  train::Trainer::stop = true;
  if (signal == SIGINT && ++interrupts == 2) std::_Exit(128 + SIGINT);
}

/// An error in the model is preceded by the calls that led to it, as in Python.
void say_failed(const std::exception& error) {
  const std::string calls = tracer::traceback_text(tracer::take_traceback());
  std::fprintf(stderr, "%slockstep: %s\n", run::printable(calls).c_str(),
               run::printable(run::shortened(with_limits(error))).c_str());
}

/// Returns the subcommands up to where parsing stopped: `trace import `.
std::string asked_of(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands()) {
    names += command->get_name() + " " + asked_of(*command);
  }
  return names;
}

/// Returns " (PET_NNODES=1:2)" if the option that an error is about was not typed, but
/// read from there.
std::string from_environment(CLI::App& app, const std::string& error,
                             const std::vector<std::string>& words) {
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    for (const CLI::Option* option : command->get_options()) {
      const std::string& variable = option->get_envname();
      const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
      if (value == nullptr || error.find(option->get_name()) == error.npos) continue;
      const bool typed = std::ranges::any_of(words, [&](const std::string& word) {
        return word.starts_with("--") &&
               option->check_name(word.substr(0, word.find('=')));
      });
      if (!typed) return fmt::format(" ({}={})", variable, value);
    }
  }
  return "";
}

/// Says what is wrong with the command line. Returns the exit code.
int refuse(CLI::App& app, const std::string& error,
           const std::vector<std::string>& words) {
  const std::string what = error + from_environment(app, error, words);
  std::fprintf(stderr, "lockstep: %s; see %s %s--help\n",
               run::printable(run::shortened(what)).c_str(), program().c_str(),
               asked_of(app).c_str());
  return 2;
}

int run(int argc, char** argv) {
  for (size_t i = 0; i < lockstep_embedded_file_count(); ++i) {
    const EmbeddedFile& file = lockstep_embedded_files()[i];
    const std::string_view path = file.path;
    if (path.starts_with("lessons/") || path.ends_with(".gp") ||
        path.ends_with(".json")) {
      continue;
    }
    tracer::add_source(path, {file.begin, file.end});
  }
  std::setvbuf(stdout, nullptr, _IOLBF,
               1 << 16);  // keeps the order with stderr, also in pipes
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that is too large is an error like any other

  CLI::App app{"lockstep: see how deep-learning training is distributed across devices",
               "lockstep"};
  app.require_subcommand(1);
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::vector<std::string> started = cut_launched_command(words);
  app.set_version_flag("--version", kVersion);
  Action action;
  add_demo(app, action);
  add_train(app, action);
  add_trace(app, action);
  add_emulate(app, action);
  add_data(app, action);
  add_launch(app, action, started);
  add_doctor(app, action);
  add_bench(app, action);
  add_bench_host(app, action);
  add_lesson(app, action);
  add_experiment(app, action);
  add_log(app, action);
#ifdef LOCKSTEP_HAS_GUI
  add_view(app, action);
#endif
  add_planned(app, action);
  if (argc > 1 && argv[1][0] != '-') {
    const auto commands = app.get_subcommands([](CLI::App*) { return true; });
    if (std::none_of(commands.begin(), commands.end(),
                     [&](CLI::App* c) { return c->get_name() == argv[1]; })) {
      throw UsageError(std::string("unknown command '") + argv[1] + "'; see " +
                       program() + " --help");
    }
  }
  read_like_argparse(app, words);
  tell_schedules_apart(words);
  const std::vector<std::string> typed = words;
  std::reverse(words.begin(), words.end());  // CLI11 expects them reversed
  try {
    app.parse(words);
  } catch (const CLI::Success& wish) {  // --help, --version
    return app.exit(wish);
  } catch (const CLI::ParseError& error) {
    return refuse(app, error.what(), typed);
  }
  lessons::plug_from_environment();
  const int code = action();
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::fprintf(stderr, "lockstep: could not write to standard output\n");
    return 1;
  }
  return code;
}

}  // namespace
}  // namespace lockstep::cli

int main(int argc, char** argv) {
  try {
    return lockstep::cli::run(argc, argv);
  } catch (const lockstep::cli::UsageError& error) {
    lockstep::cli::say_failed(error);
    return 2;
  } catch (const std::exception& error) {
    lockstep::cli::say_failed(error);
    return 1;
  }
}

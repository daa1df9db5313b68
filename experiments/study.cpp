#include "experiments/study.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <span>
#include <thread>

#include "base/container.h"
#include "base/file.h"
#include "base/program.h"
#include "engine/train/trainer.h"
#include "experiments/imagenet.h"
#include "run/child_group.h"
#include "run/words.h"

namespace lockstep::experiments {
namespace fs = std::filesystem;
namespace {

void write_file(const fs::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// On a terminal, replaces the displayed line with the run's newest line.
void show_progress(const std::string& line) {
  if (isatty(STDERR_FILENO) == 0 || line.find("Epoch:") == line.npos) return;
  std::string shown = line.substr(0, line.find("\tAcc@"));
  for (char& c : shown) c = c == '\t' || c == '\n' ? ' ' : c;
  fmt::print(stderr, "\r\033[K{}", shown.substr(0, 78));
}

void end_progress() {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
}

int run_logged(const fs::path& path, const LoggedRun& run, const std::string& command) {
  AtomicFile file(path);
  file.write("$ " + command + "\n");
  std::vector<std::string> arguments{"lockstep"};
  arguments.insert(arguments.end(), run.words.begin(), run.words.end());
  std::string failed;  // write error; set by the reader thread
  run::ChildGroup children(Milliseconds(1500));
  children.start(run.name, arguments, [&](const std::string& line) {
    show_progress(line);
    try {
      if (failed.empty()) file.write(line);
    } catch (const std::runtime_error& error) {
      failed = error.what();
    }
  });
  const int code = children.wait(train::Trainer::stop);
  end_progress();
  if (!failed.empty()) throw std::runtime_error(failed);
  if (code == 0) file.commit();
  return code;
}

void say_result(const LoggedRun& run, const Log& log, const std::string& when) {
  const auto& last = log.epochs.back();
  fmt::print("  {}: {} iterations{}, {}\n", run.name, log.iterations(),
             last.test_acc1 ? fmt::format(", Acc@1 {:.2f}", *last.test_acc1) : "",
             when);
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

}  // namespace

std::vector<std::string> seed_words(const StudyOptions& o) {
  if (!o.seed && o.device_type == DeviceType::cuda) return {};
  return {"--seed", fmt::to_string(o.seed.value_or(0))};
}

std::optional<Log> run_or_read(const StudyOptions& o, const LoggedRun& run,
                               int& exit_code) {
  const fs::path path = fs::path(o.out) / (run.name + ".log");
  const std::string command = program() + " " + typed(run.words);
  exit_code = 0;
  if (fs::exists(path) && !o.again) {
    const auto log = read_log_file(path);
    if (!log.command.empty() && !same_command(log.command, command)) {
      throw std::runtime_error(
          fmt::format("{}: written by another command ({}); fix: use --again to rerun "
                      "it, or --out to choose another folder",
                      path.string(), log.command));
    }
    say_result(run, log,
               log.command.empty() ? "from another program"
                                   : "already finished (--again reruns it)");
    return log;
  }
  fmt::print("\n$ {}\n", command);
  const auto begin = Clock::now();
  exit_code = run_logged(path, run, command);
  if (exit_code != 0) {
    fmt::print(stderr,
               "lockstep: {} {}; finished runs are kept; fix: run the same command "
               "again to continue\n",
               run.name,
               exit_code == 130 || exit_code == 143
                   ? "was interrupted"
                   : fmt::format("exited with code {}", exit_code));
    return std::nullopt;
  }
  const auto log = read_log_file(path);
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  say_result(run, log, fmt::format("{:.0f} s in total", took));
  return log;
}

int report(const StudyOptions& o, const Findings& f) {
  const fs::path folder = o.out;
  std::string notes;
  for (const std::string& note : f.notes) notes += "- " + note + "\n";
  write_file(folder / "table.md", as_markdown(f.rows) + "\n" + notes);
  write_file(folder / "table.json", f.json.dump(1) + "\n");
  if (o.json) {
    fmt::print("{}\n", f.json.dump(1));
  } else {
    fmt::print("\n{}\n{}\n", as_text(f.rows), notes);
  }
  std::FILE* out = o.json ? stderr : stdout;
  fmt::print(out, "=> written: {0}/table.md, table.json\n", folder.string());
  try {
    draw(f.plot, folder / "plot");
    fmt::print(out, "=> drawn: {0}/plot.svg, plot.png\n", folder.string());
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "lockstep: {}\n", error.what());
  }
  return 0;
}

std::string machine_note(const StudyOptions& o) {
  const int cores = visible_cores();
  const std::string when = fmt::format("{:%Y-%m-%d}", fmt::localtime(std::time({})));
  if (o.device_type != DeviceType::cpu) {
    return fmt::format("{} {} devices, {}", o.devices, run::word(o.device_type), when);
  }
  const int threads = o.threads_per_device;
  const std::string each = threads == 0 ? "with all"
                                        : fmt::format("of {} thread{} each on", threads,
                                                      threads == 1 ? "" : "s");
  return fmt::format("{} virtual cpu device{} {} {} core{} ({}), {}", o.devices,
                     o.devices == 1 ? "" : "s", each, cores, cores == 1 ? "" : "s",
                     processor(), when);
}

void check_folders(const StudyOptions& o) {
  std::error_code error;
  if (!o.data.empty() && !fs::is_directory(o.data)) {
    throw std::runtime_error("--data " + o.data + ": no such folder");
  }
  fs::create_directories(o.out, error);
  if (!error && ::access(o.out.c_str(), W_OK) != 0) {
    error = std::error_code(errno, std::generic_category());
  }
  if (error) {
    throw std::runtime_error("--out " + o.out + ": " + error.message() +
                             "; fix: choose a writable folder");
  }
}

}  // namespace lockstep::experiments

#include "cli/processes.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "base/socket.h"
#include "engine/train/trainer.h"

namespace lockstep::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<int> told_to_end{0};  ///< by this signal

void on_signal(int number) { told_to_end = number; }

/// This program's arguments, as the system keeps them.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) {
    arguments.push_back(argument);
  }
  return arguments;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Our environment with `changes`.
std::vector<std::string> changed(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (!changes.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : changes) result.push_back(name + "=" + value);
  return result;
}

}  // namespace

Processes::Processes(std::chrono::milliseconds grace) : grace_(grace) {}

Processes::~Processes() {
  signal_all(SIGKILL);
  for (const Child& child : running_) ::waitpid(child.pid, nullptr, 0);
}

void Processes::start(const std::string& name,
                      const std::map<std::string, std::string>& environment,
                      const std::vector<std::string>& arguments, Output output) {
  std::vector<std::pair<int, OnLine>> streams;
  if (output == Output::prefixed) {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      streams.emplace_back(stream, prefixed(name, stream));
    }
  }
  spawn(name, environment, arguments.empty() ? own_arguments() : arguments, streams);
}

void Processes::start(const std::string& name,
                      const std::vector<std::string>& arguments, OnLine on_line) {
  spawn(name, {}, arguments, {{STDOUT_FILENO, std::move(on_line)}});
}

void Processes::spawn(const std::string& name,
                      const std::map<std::string, std::string>& environment,
                      std::vector<std::string> words,
                      const std::vector<std::pair<int, OnLine>>& streams) {
  std::vector<std::string> settings = changed(environment);
  pid_t child = 0;
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  for (const auto& [stream, on_line] : streams) {
    outputs_.push_back(std::make_unique<ChildOutput>(on_line));
    ::posix_spawn_file_actions_adddup2(&files, outputs_.back()->entrance(), stream);
  }
  const int error = ::posix_spawn(&child, "/proc/self/exe", &files, nullptr,
                                  pointers(words).data(), pointers(settings).data());
  ::posix_spawn_file_actions_destroy(&files);
  for (auto& open : outputs_) open->close_entrance();
  if (error != 0) {
    throw std::runtime_error(
        fmt::format("cannot start a process: {}", std::strerror(error)));
  }
  running_.push_back({child, name});
}

int Processes::wait() {
  struct sigaction ours{}, old_int{}, old_term{};
  ours.sa_handler = on_signal;
  ::sigaction(SIGINT, &ours, &old_int);
  ::sigaction(SIGTERM, &ours, &old_term);
  if (train::Trainer::stop) told_to_end = SIGINT;  // Ctrl-C came before we listened
  int failure = 0;
  Clock::time_point end_at = Clock::time_point::max();
  bool terminated = false;
  while (!running_.empty()) {
    if (const int signal = told_to_end.exchange(0)) signal_all(signal);
    const bool reaped = reap(failure);
    if (failure != 0 && end_at == Clock::time_point::max()) {
      end_at = Clock::now() + grace_;
    }
    if (Clock::now() >= end_at) {
      signal_all(terminated ? SIGKILL : SIGTERM);
      end_at = Clock::now() + std::chrono::milliseconds(250);
      terminated = true;
    }
    if (!reaped) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::sigaction(SIGINT, &old_int, nullptr);
  ::sigaction(SIGTERM, &old_term, nullptr);
  outputs_.clear();  // prints what is left
  return failure;
}

/// Takes notice of one child that has ended; false if none has.
bool Processes::reap(int& first_failure) {
  for (auto child = running_.begin(); child != running_.end(); ++child) {
    int status = 0;
    if (::waitpid(child->pid, &status, WNOHANG) != child->pid) continue;
    if (WIFSIGNALED(status) && !we_signalled_) {
      fmt::print(stderr, "lockstep: {} was ended by signal {} ({})\n", child->name,
                 WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    }
    running_.erase(child);
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (first_failure == 0) first_failure = code;
    return true;
  }
  return false;
}

void Processes::signal_all(int number) {
  we_signalled_ = true;
  for (const Child& child : running_) ::sigqueue(child.pid, number, {});
}

int free_port() { return port_of(listen_at("127.0.0.1", 0)); }

}  // namespace lockstep::cli

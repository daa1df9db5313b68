#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/fd.h"

extern char** environ;

namespace lockstep {
namespace {

/// A command in the form that exec wants. Made before fork: afterwards memory must not
/// be allocated.
class ExecArguments {
 public:
  explicit ExecArguments(const Command& command) : words_(command.words) {
    for (char** entry = environ; *entry; ++entry) {
      const std::string text = *entry;
      const std::string name = text.substr(0, text.find('='));
      if (!command.environment.contains(name)) settings_.push_back(text);
    }
    for (const auto& [name, value] : command.environment) {
      settings_.push_back(name + "=" + value);
    }
    for (std::string& word : words_) argv_.push_back(word.data());
    for (std::string& setting : settings_) envp_.push_back(setting.data());
    argv_.push_back(nullptr);
    envp_.push_back(nullptr);
  }

  void execute() const { ::execvpe(argv_[0], argv_.data(), envp_.data()); }

 private:
  std::vector<std::string> words_, settings_;
  std::vector<char*> argv_, envp_;
};

void set_limit(int resource, int64_t value) {
  const rlimit both{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  ::setrlimit(resource, &both);
}

void replace_file(int ours, int target, int null) {
  if (ours == Command::kNull) ours = null;
  if (ours != Command::kInherited) ::dup2(ours, target);
}

/// Turns the forked child into the program, or reports errno. Only calls that are safe
/// between fork and exec.
[[noreturn]] void become(const ExecArguments& arguments, const Command& command,
                         int report) {
  if (command.own_group) ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  replace_file(command.input, STDIN_FILENO, null);
  replace_file(command.output, STDOUT_FILENO, null);
  replace_file(command.errors, STDERR_FILENO, null);
  const ProcessLimits& limits = command.limits;
  if (!limits.core_dump) set_limit(RLIMIT_CORE, 0);
  if (limits.file_size > 0) set_limit(RLIMIT_FSIZE, limits.file_size);
  if (limits.address_space > 0) set_limit(RLIMIT_AS, limits.address_space);
  arguments.execute();
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

/// Waits for exec, which closes the pipe; returns the errno that the child reported.
int error_of_exec(int report) {
  int error = 0;
  while (::read(report, &error, sizeof error) < 0 && errno == EINTR) {
  }
  return error;
}

/// A nameless file that receives a stream. Unlike a pipe it never fills up, so nothing
/// has to be pumped while the program runs.
class Capture {
 public:
  Capture() : file_(std::tmpfile(), &std::fclose) {
    if (!file_) throw std::runtime_error("no room for a temporary file in /tmp");
    ::fcntl(fd(), F_SETFD, FD_CLOEXEC);
  }

  int fd() const { return ::fileno(file_.get()); }

  std::string text() const {
    std::string text;
    char piece[4096];
    std::rewind(file_.get());
    while (const size_t got = std::fread(piece, 1, sizeof piece, file_.get())) {
      text.append(piece, got);
    }
    return text;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace

Process::Process(const Command& command) : own_group_(command.own_group) {
  const ExecArguments arguments(command);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), command.words[0]);
  }
  const Fd report(ends[0]);
  Fd report_in_child(ends[1]);
  id_ = ::fork();
  if (id_ == 0) become(arguments, command, report_in_child.get());
  int error = id_ < 0 ? errno : 0;
  report_in_child = Fd();
  if (id_ > 0) {
    if (own_group_) ::setpgid(id_, id_);  // the child does the same
    error = error_of_exec(report.get());
    if (error != 0) wait();
  }
  if (error != 0) {
    throw std::system_error(error, std::generic_category(),
                            command.words[0] + ": cannot be started");
  }
}

Process::Process(Process&& other) noexcept
    : id_(std::exchange(other.id_, -1)), own_group_(other.own_group_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(own_group_, other.own_group_);
  return *this;
}

Process::~Process() {
  if (!running()) return;
  signal(SIGKILL);
  wait();
}

ExitStatus Process::wait() { return *reap(0); }

std::optional<ExitStatus> Process::poll() { return reap(WNOHANG); }

std::optional<ExitStatus> Process::reap(int options) {
  int status = 0;
  pid_t ended;
  do {
    ended = ::waitpid(id_, &status, options);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return std::nullopt;
  id_ = -1;
  if (ended < 0) throw std::system_error(errno, std::generic_category(), "waitpid");
  if (WIFSIGNALED(status)) return ExitStatus{128 + WTERMSIG(status), WTERMSIG(status)};
  return ExitStatus{WEXITSTATUS(status), 0};
}

void Process::signal(int number) {
  if (own_group_) {
    ::kill(-id_, number);
  } else {
    ::sigqueue(id_, number, {});
  }
}

ProcessResult run_process(const std::vector<std::string>& words, Messages messages) {
  const Capture output, errors;
  Command command{words};
  command.output = output.fd();
  if (messages == Messages::captured) command.errors = errors.fd();
  try {
    const int exit_code = Process(command).wait().code;
    return {exit_code, output.text(), errors.text()};
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
    throw std::runtime_error(
        fmt::format("{}: no such program; fix: install it", words[0]));
  }
}

}  // namespace lockstep

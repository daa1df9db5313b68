#include "base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/fd.h"

extern char** environ;

namespace lockstep {
namespace {

/// A command in the form required by exec. Must be constructed before fork, since the
/// child must not allocate memory.
class ExecArguments {
 public:
  explicit ExecArguments(const Command& command)
      : file_(command.file.empty() ? command.words[0] : command.file),
        words_(command.words) {
    for (char** entry = environ; command.inherit_environment && *entry; ++entry) {
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

  void execute() const { ::execvpe(file_.c_str(), argv_.data(), envp_.data()); }

 private:
  const std::string file_;
  std::vector<std::string> words_, settings_;
  std::vector<char*> argv_, envp_;
};

void set_limit(int resource, int64_t value) {
  const rlimit both{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  ::setrlimit(resource, &both);
}

/// Blocks all signals in the calling thread until the end of the scope: a signal that
/// arrives between fork and exec would run our handler in the child and be lost.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  /// Called in the child: a pending signal then kills it, or is ignored as before.
  void unblock_without_handlers() const {
    for (int number = 1; number < NSIG; ++number) {
      struct sigaction action{};
      if (::sigaction(number, nullptr, &action) != 0) continue;
      if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL) continue;
      ::signal(number, SIG_DFL);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_;
};

/// Sets up standard input, output and error. Returns false with errno set on failure.
bool replace_files(const Command& command) {
  // First move all files above the three standard descriptors: one may be requested
  // twice or in another's place, and dup2 to itself would leave it close-on-exec.
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  int files[] = {command.input, command.output, command.errors};
  for (int& file : files) {
    if (file == Command::kInherited) continue;
    const int source = file == Command::kNull ? null : file;
    file = ::fcntl(source, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (file < 0) return false;
  }
  for (const int target : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (files[target] == Command::kInherited) continue;
    if (::dup2(files[target], target) < 0) return false;
  }
  // Other threads may be in libraries that open files without O_CLOEXEC.
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  return true;
}

/// Executes the program in the forked child, or reports errno. Makes only calls that
/// are safe between fork and exec.
[[noreturn]] void become(const ExecArguments& arguments, const Command& command,
                         const SignalsBlocked& signals, int report) {
  report = ::fcntl(report, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (command.own_group) ::setpgid(0, 0);
  if (replace_files(command)) {
    const ProcessLimits& limits = command.limits;
    if (!limits.core_dump) set_limit(RLIMIT_CORE, 0);
    if (limits.file_size > 0) set_limit(RLIMIT_FSIZE, limits.file_size);
    if (limits.address_space > 0) set_limit(RLIMIT_AS, limits.address_space);
    signals.unblock_without_handlers();
    arguments.execute();
  }
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

/// Waits for exec, which closes the pipe. Returns the errno that the child reported.
int error_of_exec(int report) {
  int error = 0;
  while (::read(report, &error, sizeof error) < 0 && errno == EINTR) {
  }
  return error;
}

/// An in-memory file that captures a stream. Unlike a pipe, it never fills up, so
/// nothing needs to be read while the program runs.
class Capture {
 public:
  Capture() : file_(::memfd_create("output", MFD_CLOEXEC)) {
    if (!file_) throw std::system_error(errno, std::generic_category(), "memfd_create");
  }

  int fd() const { return file_.get(); }

  std::string text() const {
    std::string text;
    char piece[4096];
    for (;;) {
      const auto from = static_cast<off_t>(text.size());
      const ssize_t got = ::pread(fd(), piece, sizeof piece, from);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return text;
      text.append(piece, static_cast<size_t>(got));
    }
  }

 private:
  Fd file_;
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
  int error = 0;
  {
    const SignalsBlocked signals;
    id_ = ::fork();
    if (id_ == 0) become(arguments, command, signals, report_in_child.get());
    if (id_ < 0) error = errno;
  }
  report_in_child = Fd();
  if (id_ > 0) {
    if (own_group_) ::setpgid(id_, id_);  // the child does so too; either may be first
    error = error_of_exec(report.get());
    if (error != 0) wait();
  }
  if (error != 0) {
    throw std::system_error(error, std::generic_category(),
                            command.words[0] + ": cannot be started");
  }
}

Process::Process(Process&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      status_(other.status_),
      own_group_(other.own_group_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(status_, other.status_);
  std::swap(own_group_, other.own_group_);
  return *this;
}

Process::~Process() {
  if (!running()) return;
  signal(SIGKILL);
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ExitStatus Process::wait() { return *reap(0); }

std::optional<ExitStatus> Process::poll() { return reap(WNOHANG); }

std::optional<ExitStatus> Process::reap(int options) {
  if (!running()) return status_;  // waitpid(−1) would reap any child
  int status = 0;
  pid_t ended;
  do {
    ended = ::waitpid(id_, &status, options);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return std::nullopt;
  id_ = -1;
  if (ended < 0) throw std::system_error(errno, std::generic_category(), "waitpid");
  if (WIFSIGNALED(status)) {
    status_ = {128 + WTERMSIG(status), WTERMSIG(status)};
  } else {
    status_ = {WEXITSTATUS(status), 0};
  }
  return status_;
}

void Process::signal(int number) {
  if (!running()) return;
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

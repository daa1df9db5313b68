#include "lessons/machine/contain.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace lockstep::lessons {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMostOutput = 64 << 10;

void limit(int what, int64_t value) {
  const rlimit both{static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  setrlimit(what, &both);
}

/// After fork: only calls that are safe between fork and exec.
[[noreturn]] void become(char* const* arguments, int output, const Limits& limits) {
  setpgid(0, 0);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, limits.file);
  if (limits.memory > 0) limit(RLIMIT_AS, limits.memory);
  execv(arguments[0], arguments);
  _exit(127);
}

/// Reads until the other end is closed or `deadline` has come; false: it has come.
bool read_until(int pipe, Clock::time_point deadline, std::string& output) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd readable{pipe, POLLIN, 0};
    const int ready = poll(&readable, 1, static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    char chunk[4096];
    const ssize_t count = read(pipe, chunk, sizeof chunk);
    if (count <= 0) return true;
    const size_t room = kMostOutput - std::min(kMostOutput, output.size());
    output.append(chunk, std::min(room, static_cast<size_t>(count)));
  }
}

}  // namespace

Ended run_contained(const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& environment,
                    const Limits& limits) {
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> list;
  for (const std::string& argument : arguments) {
    list.push_back(const_cast<char*>(argument.c_str()));
  }
  list.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
  const pid_t child = fork();
  if (child == 0) become(list.data(), ends[1], limits);
  close(ends[1]);
  for (const auto& [name, value] : environment) unsetenv(name.c_str());
  if (child < 0) {
    close(ends[0]);
    throw std::runtime_error(arguments[0] + ": cannot be started");
  }
  setpgid(child, child);  // both sides do so: whoever comes first

  Ended ended;
  const auto deadline = Clock::now() + std::chrono::seconds(limits.seconds);
  ended.timed_out = !read_until(ends[0], deadline, ended.output);
  if (ended.timed_out) {
    kill(-child, SIGQUIT);
    const auto last_words = Clock::now() + std::chrono::seconds(limits.last_words);
    read_until(ends[0], last_words, ended.output);
  }
  kill(-child, SIGKILL);  // at the deadline; else, what it left behind
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ended.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return ended;
}

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace lockstep::lessons

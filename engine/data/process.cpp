#include "engine/data/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

extern char** environ;

namespace lockstep::data {
namespace {

// A nameless file that receives a stream: unlike a pipe it never fills up, so there is
// nothing to pump while the program runs.
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

class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR)
      throw std::runtime_error("waitpid: " + std::string(std::strerror(errno)));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments,
                          Complaints complaints) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);

  Capture output, errors;
  SpawnActions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), output.fd(), 1);
  if (complaints == Complaints::captured) {
    ::posix_spawn_file_actions_adddup2(actions.get(), errors.fd(), 2);
  }

  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, argv[0], actions.get(), nullptr, argv.data(), environ);
  if (failed != 0) {
    throw std::runtime_error(fmt::format("{}: cannot be started: {}; install it",
                                         arguments[0], std::strerror(failed)));
  }
  const int exit_code = wait_for(child);
  return {exit_code, output.text(), errors.text()};
}

}  // namespace lockstep::data

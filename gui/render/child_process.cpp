#include "gui/render/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <system_error>
#include <utility>

extern char** environ;

namespace lockstep::gui {

namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// What becomes of the child's first three files.
class FileActions {
 public:
  FileActions(int input, int errors) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY,
                                     0);
    posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments)
    : errors_(std::tmpfile()) {
  // A pair of sockets is a pipe that can be asked not to raise SIGPIPE.
  int ends[2];
  if (!errors_ || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fail(errno, arguments[0]);
  }
  input_ = ends[0];
  std::vector<char*> words;
  for (const std::string& word : arguments)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const FileActions actions(ends[1], fileno(errors_.get()));
  const int error =
      posix_spawnp(&id_, words[0], actions.get(), nullptr, words.data(), environ);
  close(ends[1]);
  if (error != 0) {
    id_ = -1;
    close_input();
    fail(error, arguments[0]);
  }
}

ChildProcess::~ChildProcess() {
  if (id_ >= 0) {
    kill(id_, SIGKILL);
    wait();
  }
  close_input();
}

bool ChildProcess::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(input_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool ChildProcess::finish() {
  close_input();
  const int status = id_ >= 0 ? wait() : -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int ChildProcess::wait() {
  int status = -1;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
  return status;
}

void ChildProcess::close_input() {
  if (input_ >= 0) close(std::exchange(input_, -1));
}

std::string ChildProcess::last_words() const {
  std::rewind(errors_.get());
  std::string line, last;
  for (int c = 0; c != EOF;) {
    c = std::fgetc(errors_.get());
    if (c != EOF && c != '\n' && c != '\r') {
      line += static_cast<char>(c);
    } else if (!line.empty()) {
      last = std::exchange(line, {});
    }
  }
  return last;
}

}  // namespace lockstep::gui

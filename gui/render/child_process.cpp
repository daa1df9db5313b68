#include "gui/render/child_process.h"

#include <sys/socket.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace lockstep::gui {

ChildProcess::ChildProcess(const std::vector<std::string>& arguments)
    : errors_(std::tmpfile()) {
  // A socket pair, unlike a pipe, can suppress SIGPIPE.
  int ends[2];
  if (!errors_ || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), arguments[0]);
  }
  input_ = Fd(ends[0]);
  const Fd input_of_child(ends[1]);
  Command command{arguments};
  command.input = input_of_child.get();
  command.output = Command::kNull;
  command.errors = fileno(errors_.get());
  process_.emplace(command);
}

bool ChildProcess::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(input_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool ChildProcess::finish() {
  input_ = Fd();
  return process_->running() && process_->wait().code == 0;
}

std::string ChildProcess::last_error_line() const {
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

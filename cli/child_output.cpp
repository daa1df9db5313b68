#include "cli/child_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace lockstep::cli {

OnLine prefixed(const std::string& name, int stream) {
  return [prefix = "[" + name + "] ", stream](const std::string& line) {
    const std::string whole = prefix + line;
    (void)!::write(stream, whole.data(), whole.size());
  };
}

ChildOutput::ChildOutput(OnLine on_line) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
  }
  exit_ = Fd(ends[0]);
  entrance_ = Fd(ends[1]);
  thread_ = std::thread([this, on_line = std::move(on_line)] { read(on_line); });
}

ChildOutput::~ChildOutput() {
  close_entrance();
  thread_.join();
}

void ChildOutput::read(const OnLine& on_line) {
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t got = ::read(exit_.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) text.append(bytes, got);
    if (got <= 0 && !text.empty()) text += '\n';
    for (size_t end; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
      on_line(text.substr(0, end + 1));
    }
    if (got <= 0) return;
  }
}

}  // namespace lockstep::cli

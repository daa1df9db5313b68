#include "cli/prefixed_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace lockstep::cli {

PrefixedOutput::PrefixedOutput(const std::string& name, int stream) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
  }
  exit_ = distributed::store::Fd(ends[0]);
  entrance_ = distributed::store::Fd(ends[1]);
  thread_ = std::thread(
      [this, prefix = "[" + name + "] ", stream] { pass_on(prefix, stream); });
}

PrefixedOutput::~PrefixedOutput() {
  close_entrance();
  thread_.join();
}

void PrefixedOutput::pass_on(const std::string& prefix, int stream) {
  std::string text;
  char bytes[4096];
  for (;;) {
    const ssize_t got = ::read(exit_.get(), bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) text.append(bytes, got);
    if (got <= 0 && !text.empty()) text += '\n';
    for (size_t end; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
      const std::string line = prefix + text.substr(0, end + 1);
      (void)!::write(stream, line.data(), line.size());
    }
    if (got <= 0) return;
  }
}

}  // namespace lockstep::cli

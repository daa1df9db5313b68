#include "lessons/machine/contain.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/process.h"

namespace lockstep::lessons {
namespace {

constexpr size_t kMostOutput = 64 << 10;

/// Reads until the other end is closed or `deadline` has passed; returns false in the
/// latter case.
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
                    const Limits& limits, int input) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
  const Fd output(ends[0]);
  Fd output_of_child(ends[1]);
  Command command{arguments, environment};
  command.inherit_environment = limits.inherit_environment;
  command.input = input;
  command.output = command.errors = output_of_child.get();
  command.own_group = true;
  command.limits = {limits.memory, limits.file, /*core_dump=*/false};
  Process child(command);
  output_of_child = Fd();

  Ended ended;
  const auto deadline = Clock::now() + std::chrono::seconds(limits.seconds);
  ended.timed_out = !read_until(output.get(), deadline, ended.output);
  if (ended.timed_out) {
    child.signal(SIGQUIT);
    const auto last_words = Clock::now() + std::chrono::seconds(limits.last_words);
    read_until(output.get(), last_words, ended.output);
  }
  child.signal(SIGKILL);  // at the deadline; otherwise, its remaining children
  ended.exit_code = child.wait().code;
  return ended;
}

}  // namespace lockstep::lessons

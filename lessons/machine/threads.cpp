#include "lessons/machine/threads.h"

#include <fmt/format.h>

#include <fstream>

namespace lockstep::lessons {

std::string sleep_of(pid_t thread) {
  std::ifstream status(fmt::format("/proc/self/task/{}/status", thread));
  std::string found;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("State:") && line.find("S (") == line.npos) return "";
    if (line.find("ctxt_switches:") != line.npos) found += line;
  }
  return found;
}

}  // namespace lockstep::lessons

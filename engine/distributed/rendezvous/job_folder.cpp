#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "engine/distributed/rendezvous/launchers.h"

namespace lockstep::distributed {
namespace {

/// The parent of a process, and when it started: a pid may be reused. Fields 4 and 22
/// of proc_pid_stat(5), after the name in parentheses.
struct ProcessFacts {
  int parent = 0;
  std::string started;
};

ProcessFacts facts_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ProcessFacts facts;
  const size_t name = text.rfind(')');
  if (name == text.npos) return facts;
  size_t at = name + 2;
  for (int field = 3; field < 22; ++field) {
    if (field == 4) facts.parent = std::atoi(text.c_str() + at);
    at = text.find(' ', at);
    if (at == text.npos) return facts;
    ++at;
  }
  facts.started = text.substr(at, text.find(' ', at) - at);
  return facts;
}

/// Another user's environment, such as that of Slurm's daemon, cannot be read.
bool has_variable(int pid, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry.starts_with(name + "=")) return true;
  }
  return false;
}

}  // namespace

std::string launcher_process(const std::string& variable) {
  int pid = ::getppid();
  while (pid > 1 && has_variable(pid, variable)) pid = facts_of(pid).parent;
  return fmt::format("{} {}", pid, facts_of(pid).started);
}

std::string job_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const bool usable = runtime && *runtime == '/' && ::access(runtime, W_OK) == 0;
  const std::string folder =
      usable ? std::string(runtime) + "/lockstep"
             : fmt::format("/tmp/lockstep-{}", static_cast<long>(::geteuid()));
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw std::runtime_error(fmt::format(
        "{}: cannot be created: {}; fix: use --dist-url tcp://127.0.0.1:PORT", folder,
        std::strerror(errno)));
  }
  struct stat status{};
  const bool safe = ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                    status.st_uid == ::geteuid() && (status.st_mode & 022) == 0;
  if (safe) return folder;
  throw std::runtime_error(
      fmt::format("{}: others can write there; fix: remove it, or use --dist-url "
                  "tcp://127.0.0.1:PORT",
                  folder));
}

}  // namespace lockstep::distributed

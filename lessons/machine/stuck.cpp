#include "lessons/machine/stuck.h"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/process.h"

namespace lockstep::lessons {
namespace {

uintptr_t base = 0, end = 0;  // range of the learner's library in memory
int report = -1;              // the file descriptor

/// Writes, on the signalled thread, the innermost address in the library and its
/// callers in the library, in hexadecimal. Uses only async-signal-safe calls.
void say_where(int) {
  void* frames[64];
  const int count = backtrace(frames, 64);
  char line[64];
  size_t length = 0;
  for (int i = 0; i < count && length < 40; ++i) {
    const auto at = reinterpret_cast<uintptr_t>(frames[i]);
    if (at < base || at >= end) continue;
    uintptr_t offset = at - base - 1;  // inside the call instruction, not after it
    line[length++] = ' ';
    for (int shift = 28; shift >= 0; shift -= 4) {
      line[length++] = "0123456789abcdef"[(offset >> shift) & 15];
    }
  }
  if (length == 0) return;
  line[length++] = '\n';
  if (::write(report, line, length) < 0) return;
}

/// Signals all threads of this process.
void ask_all(int) {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return;
  while (const dirent* entry = readdir(tasks)) {
    const int id = std::atoi(entry->d_name);
    if (id > 0) syscall(SYS_tgkill, getpid(), id, SIGUSR2);
  }
  closedir(tasks);
}

int find_library(dl_phdr_info* info, size_t, void* address) {
  const auto inside = reinterpret_cast<uintptr_t>(address);
  uintptr_t last = 0;
  bool here = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    here = here || (inside >= begin && inside < begin + part.p_memsz);
    last = std::max(last, begin + part.p_memsz);
  }
  if (!here) return 0;
  base = info->dlpi_addr;
  end = last;
  return 1;
}

}  // namespace

void report_when_stuck(const std::string& library) {
  const char* file = std::getenv("LOCKSTEP_STUCK");
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (file == nullptr || handle == nullptr) return;
  void* entry = dlsym(handle, "lockstep_lesson");
  if (entry == nullptr || dl_iterate_phdr(find_library, entry) == 0) return;
  report = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  void* frames[1];
  backtrace(frames, 1);  // loads its dependencies; a signal handler must not
  struct sigaction action{};
  action.sa_flags = SA_RESTART;
  action.sa_handler = say_where;
  sigaction(SIGUSR2, &action, nullptr);
  action.sa_handler = ask_all;
  sigaction(SIGQUIT, &action, nullptr);
}

std::vector<std::string> places_in(const std::string& file,
                                   const std::string& library) {
  std::ifstream lines(file);
  std::vector<std::string> places, seen;
  for (std::string offset; lines >> offset && seen.size() < 32;) {
    if (std::find(seen.begin(), seen.end(), offset) != seen.end()) continue;
    seen.push_back(offset);
    std::string text;
    try {
      text = run_process({"addr2line", "-f", "-C", "-s", "-e", library, offset}).output;
    } catch (const std::runtime_error&) {
      return places;  // addr2line is missing
    }
    const size_t line = text.find('\n');
    if (line == std::string::npos || text.find("??") != std::string::npos) continue;
    std::string function = text.substr(0, line);
    function.erase(std::min(function.find('('), function.size()));
    const size_t scope = function.rfind("::");
    if (scope != std::string::npos) function.erase(0, scope + 2);
    std::string where = text.substr(line + 1);
    where.erase(std::min(where.find_first_of(" \n"), where.size()));
    // Lines in headers are not helpful to a learner.
    if (where.find(".cpp:") == std::string::npos) continue;
    const std::string place = fmt::format("{} ({})", where, function);
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(place);
    }
  }
  return places;
}

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

// A process that writes its results says so, so that the launcher that started it
// waits.
#pragma once

#include <sys/types.h>

#include <array>

namespace lockstep::run {

/// Names the calling thread `lockstep writes` during its lifetime; `ps` shows it if
/// that is the main thread. May be nested.
class Writing {
 public:
  Writing();
  ~Writing();
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  std::array<char, 16> name_before_{};
};

/// Returns whether the main thread of a process is writing its results; false if there
/// is no such process, or if it has been stopped (SIGSTOP, a debugger).
bool is_writing(pid_t process);

}  // namespace lockstep::run

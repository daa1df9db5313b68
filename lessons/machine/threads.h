// A thread's state, from the kernel, so that tests of waiting do not need a clock.
#pragma once

#include <sys/types.h>

#include <string>

namespace lockstep::lessons {

/// Returns the context-switch counts of a thread of this process if it sleeps,
/// otherwise "". Two equal results mean that it slept in between.
std::string sleep_of(pid_t thread);

}  // namespace lockstep::lessons

// Reports where a learner's code hangs, and whether a thread sleeps. The latter is read
// from the kernel, so that tests of waiting do not need a clock.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace lockstep::lessons {

/// Makes SIGQUIT write the location of each thread in `library` to the file named by
/// LOCKSTEP_STUCK; the process then continues. Does nothing without LOCKSTEP_STUCK. The
/// library must be loaded. Not thread-safe: must be called before threads start.
void report_when_stuck(const std::string& library);

/// Returns the locations written to `file`, as `naive_sync.cpp:41 (after_backward)`,
/// each once, the innermost lines of a thread first; empty if no thread was in
/// `library`. Requires addr2line, which comes with the compiler.
std::vector<std::string> places_in(const std::string& file, const std::string& library);

/// Returns the context-switch counts of a thread of this process if it sleeps,
/// otherwise "". Two equal results mean that it slept in between.
std::string sleep_of(pid_t thread);

}  // namespace lockstep::lessons

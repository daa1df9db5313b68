// Where a learner's code stands that does not come to an end.
#pragma once

#include <string>
#include <vector>

namespace lockstep::lessons {

/// From now on SIGQUIT makes this process write, to the file that LOCKSTEP_STUCK names,
/// where in `library` each thread is; it then goes on. Without LOCKSTEP_STUCK: nothing
/// happens. The library must be loaded. Not thread-safe: call it before threads start.
void report_when_stuck(const std::string& library);

/// What the processes wrote to `file`, as `naive_sync.cpp:41 (after_backward)`, each
/// place once, the innermost lines of a thread first; empty if nobody was in
/// `library`. Needs addr2line, which comes with the compiler.
std::vector<std::string> places_in(const std::string& file, const std::string& library);

}  // namespace lockstep::lessons

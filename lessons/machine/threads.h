// What a thread does, as the system sees it: tests of waiting use no clock.
#pragma once

#include <sys/types.h>

#include <string>

namespace lockstep::lessons {

/// How often this thread of ours has left a core, while it sleeps; "" while it does
/// not. The same twice: it has slept all the while.
std::string sleep_of(pid_t thread);

}  // namespace lockstep::lessons

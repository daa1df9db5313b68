// How much memory this machine has, for tests that need much of it.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace lockstep {

/// Returns the physical memory, in whole GiB.
inline int64_t gibibytes_of_memory() {
  return (sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)) >> 30;
}

}  // namespace lockstep

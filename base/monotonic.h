// The monotonic clock as a number.
#pragma once

#include <chrono>
#include <cstdint>

namespace lockstep {

/// Returns the time of the monotonic clock, in nanoseconds since this machine's boot.
inline int64_t monotonic_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace lockstep

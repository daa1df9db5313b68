// Timeouts as points in time: a wait that is interrupted goes on, it does not restart.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

namespace lockstep {

using Milliseconds = std::chrono::milliseconds;

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

/// Negative timeouts are 0, and endless ones a year, so that no sum with them
/// overflows.
inline Milliseconds within_reason(Milliseconds timeout) {
  return std::clamp<Milliseconds>(timeout, Milliseconds(0), std::chrono::hours(8760));
}

inline TimePoint deadline_after(Milliseconds timeout) {
  return Clock::now() + within_reason(timeout);
}

/// Returns the time until `deadline` for poll(2): milliseconds, rounded up so that the
/// last fraction is not spent in a busy loop.
inline int poll_timeout(TimePoint deadline) {
  const auto left = std::chrono::ceil<Milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, INT_MAX));
}

}  // namespace lockstep

// Timeouts expressed as deadlines: an interrupted wait resumes with the same deadline
// instead of restarting the timeout.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

namespace lockstep {

using Milliseconds = std::chrono::milliseconds;

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

/// Returns `timeout` clamped to [0, 1 year], so that adding it to a time point cannot
/// overflow.
inline Milliseconds within_reason(Milliseconds timeout) {
  return std::clamp<Milliseconds>(timeout, Milliseconds(0), std::chrono::hours(8760));
}

/// Returns the time point `timeout` from now.
inline TimePoint deadline_after(Milliseconds timeout) {
  return Clock::now() + within_reason(timeout);
}

/// Returns the time left until `deadline` in milliseconds, as poll(2) expects; 0 if it
/// has passed. Rounds up: rounding down would busy-wait during the last millisecond.
inline int poll_timeout(TimePoint deadline) {
  const auto left = std::chrono::ceil<Milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, INT_MAX));
}

}  // namespace lockstep

// Answers two independent questions about a trace at the same time.
#pragma once

#include <future>
#include <utility>

namespace lockstep::tracer {

/// Runs both functions and returns when both have returned. If no thread can be
/// started, they run one after the other. Rethrows what either of them throws.
template <typename First, typename Second>
void run_both(First first, Second second) {
  auto others = std::async(std::move(second));
  first();
  others.get();
}

}  // namespace lockstep::tracer

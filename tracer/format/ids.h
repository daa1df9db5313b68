// Event ids.
#pragma once

#include <cstdint>

namespace lockstep::tracer {

inline constexpr int64_t kNone = -1;  ///< an absent id, step or parent

}  // namespace lockstep::tracer

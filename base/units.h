// Numbers for people: 46,758,048 B → "46.8 MB"; 1,234,567 ns → "1.23 ms".
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

std::string human_bytes(int64_t bytes);  ///< decimal units, three digits
std::string human_time(int64_t nanoseconds);
std::string percent(double share);  ///< 0.123 → "12 %"

inline double seconds(int64_t nanoseconds) { return nanoseconds * 1e-9; }

}  // namespace lockstep

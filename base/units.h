// Numbers as text with units: 46,758,048 → "46.8 MB"; 1,234,567 ns → "1.23 ms".
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

/// Formats a size in decimal units (1 kB = 1000 B) with three significant digits, or
/// exactly if it is below 1000 bytes.
std::string human_bytes(int64_t bytes);

/// Formats a duration in ns, µs, ms or s with three significant digits; 0 becomes "0".
std::string human_time(int64_t nanoseconds);

/// Formats a fraction as a whole percentage: 0.123 → "12 %".
std::string percent(double share);

/// Converts nanoseconds to seconds.
inline double seconds(int64_t nanoseconds) { return nanoseconds * 1e-9; }

}  // namespace lockstep

// Numbers as text with units: 46,758,048 → "46.8 MB"; 1,234,567 ns → "1.23 ms".
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

/// Decimal units (1 kB = 1000 B), three significant digits; below 1000 the exact
/// number.
std::string human_bytes(int64_t bytes);

/// Units from ns to s, three significant digits; 0 is "0".
std::string human_time(int64_t nanoseconds);

/// A share of 1 as a whole percentage: 0.123 → "12 %".
std::string percent(double share);

/// Nanoseconds as seconds.
inline double seconds(int64_t nanoseconds) { return nanoseconds * 1e-9; }

}  // namespace lockstep

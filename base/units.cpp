#include "base/units.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace lockstep {
namespace {

/// Formats a number as 1.23, 12.3 or 123.
std::string three_digits(double value) {
  const double size = std::abs(value);
  const int places = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, places);
}

template <size_t N>
std::string scaled(double value, const char* const (&units)[N]) {
  size_t unit = 0;
  for (; std::abs(value) >= 999.5 && unit + 1 < N; ++unit) value /= 1000;
  return fmt::format("{} {}", three_digits(value), units[unit]);
}

}  // namespace

std::string human_bytes(int64_t bytes) {
  if (std::abs(static_cast<double>(bytes)) < 1000) return fmt::format("{} B", bytes);
  static const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  return scaled(static_cast<double>(bytes), units);
}

std::string human_time(int64_t nanoseconds) {
  if (nanoseconds == 0) return "0";
  static const char* const units[] = {"ns", "µs", "ms", "s"};
  return scaled(static_cast<double>(nanoseconds), units);
}

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

}  // namespace lockstep

// Times: decimal microseconds with three digits in the file, integer nanoseconds here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::tracer {

/// Times more than 73 years after or 36 years before the origin are
/// rejected, so that sums and differences of times cannot overflow;
/// the nanoseconds since 1970, which PyTorch writes, are within range.
inline constexpr int64_t kMaxTime = int64_t{1} << 61;
inline constexpr int64_t kMinTime = -kMaxTime / 2;

/// Returns a + b clamped to the range of int64_t: a file may claim any byte count.
inline int64_t add_within_range(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max()
               : std::numeric_limits<int64_t>::min();
}

/// "12.345" → 12345. Exact, whereas a double would lose the nanoseconds of
/// 1712195495519836.506; digits beyond the third are truncated. Accepts
/// exponents. Returns nullopt if the text is not a number or is out of range.
std::optional<int64_t> parse_microseconds(std::string_view text);

/// 12345 → "12.345", always with three digits.
std::string format_microseconds(int64_t nanoseconds);
/// Appends what `format_microseconds` returns.
void append_microseconds(std::string& text, int64_t nanoseconds);

}  // namespace lockstep::tracer

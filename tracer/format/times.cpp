#include "tracer/format/times.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "tracer/format/tokens.h"

namespace lockstep::tracer {

namespace {

std::optional<int64_t> parse_with_exponent(const std::string& text) {
  char* end = nullptr;
  const double nanoseconds = std::strtod(text.c_str(), &end) * 1000;
  const bool fits = nanoseconds >= static_cast<double>(kMinTime) &&
                    nanoseconds <= static_cast<double>(kMaxTime);
  if (*end != '\0' || !fits) return std::nullopt;
  return std::llround(nanoseconds);
}

}  // namespace

std::optional<int64_t> parse_microseconds(std::string_view text) {
  if (text.find_first_of("eE") != std::string_view::npos) {
    return parse_with_exponent(std::string(text));
  }
  size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++at;
  if (at == text.size() || !is_digit(text[at])) return std::nullopt;

  int64_t value = 0;
  const auto append = [&](char digit) {
    if (value > kMaxTime / 10) return false;
    value = value * 10 + (digit - '0');
    return value <= kMaxTime;
  };
  for (; at < text.size() && is_digit(text[at]); ++at) {
    if (!append(text[at])) return std::nullopt;
  }
  if (at < text.size() && text[at] == '.') ++at;
  for (int place = 0; place < 3; ++place) {
    const bool given = at < text.size() && is_digit(text[at]);
    if (!append(given ? text[at++] : '0')) return std::nullopt;
  }
  while (at < text.size() && is_digit(text[at])) ++at;
  if (at != text.size()) return std::nullopt;
  if (negative) value = -value;
  return value < kMinTime ? std::nullopt : std::optional(value);
}

void append_microseconds(std::string& text, int64_t nanoseconds) {
  if (nanoseconds < 0) text += '-';
  const uint64_t size = nanoseconds < 0 ? -static_cast<uint64_t>(nanoseconds)
                                        : static_cast<uint64_t>(nanoseconds);
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, size / 1000).ptr);
  text +=
      {'.', static_cast<char>('0' + size % 1000 / 100),
       static_cast<char>('0' + size % 100 / 10), static_cast<char>('0' + size % 10)};
}

std::string format_microseconds(int64_t nanoseconds) {
  std::string text;
  append_microseconds(text, nanoseconds);
  return text;
}

}  // namespace lockstep::tracer

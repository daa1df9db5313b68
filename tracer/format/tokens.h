// Interprets the tokens that the scanner extracts from a trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::tracer {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

inline bool is_text(std::string_view token) {
  return token.size() >= 2 && token.front() == '"';
}

/// Returns the content of a string, escapes as written; "" for anything else.
inline std::string_view content(std::string_view token) {
  return is_text(token) ? token.substr(1, token.size() - 2) : std::string_view();
}

/// Appends the numbers of a list such as `[1,22]` to `numbers`. Returns false if
/// the token is anything else, or contains blanks, signs or very large numbers.
template <typename List>
bool read_plain_list(std::string_view token, List& numbers) {
  if (token.empty() || token[0] != '[') return false;
  int64_t value = 0;
  int digits = 0;
  for (size_t i = 1; i < token.size(); ++i) {
    const char c = token[i];
    if (is_digit(c) && digits < 18) {
      value = value * 10 + (c - '0');
      ++digits;
    } else if ((c == ',' || c == ']') && (digits > 0 || token.size() == 2)) {
      if (digits > 0) numbers.push_back(value);
      value = 0;
      digits = 0;
    } else {
      return false;
    }
  }
  return true;
}

/// Converts decimal microseconds to nanoseconds: 12.345 → 12345,
/// exactly. Returns false if the token is not a time or is out of range.
bool nanoseconds(std::string_view token, int64_t& result);

/// Returns the content of a string for display: `\u00e9`
/// becomes é, and bytes that are not valid UTF-8 are replaced.
std::string shown(std::string_view content);

}  // namespace lockstep::tracer

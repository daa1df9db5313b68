// Scans JSON text once, from front to back, and returns pieces of it. Nothing
// is copied, no tree is built, and values that are not needed are skipped
// sixteen bytes at a time, which is what makes large traces open quickly.
//
//     for (bool more = scan.enter('{'); more; more = scan.more('}')) {
//       if (scan.key() == "name") name = scan.value();
//       else scan.value();
//     }
//
// After an error (damaged or truncated text), the scanner is positioned
// at the end: every loop terminates, and `error` returns the reason.
//
// A strict scanner accepts exactly what JSON allows. A tolerant one checks only
// quotes, brackets and commas: the viewer shows what it can of a damaged file.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "tracer/format/bytes16.h"
#include "tracer/format/tokens.h"

namespace lockstep::tracer {

enum class Grammar : uint8_t { strict, tolerant };

/// Parses a 64-bit integer; returns `otherwise` for anything else.
int64_t parse_integer(std::string_view token, int64_t otherwise);

/// Returns true if nlohmann accepts it. Used only where scanning is not conclusive.
bool is_valid_json(std::string_view token);

template <Grammar grammar>
class BasicScanner {
 public:
  static constexpr bool kStrict = grammar == Grammar::strict;
  // Limits far above any valid trace: they bound the resources a hostile file can use.
  static constexpr int kMaxDepth = 64;
  static constexpr size_t kMaxKeys = 10'000;  ///< strict only

  // Values of `error` other than damage.
  static constexpr const char* kTooDeep = "nested too deeply for a trace";
  static constexpr const char* kTooManyKeys = "too many keys for an event";

  BasicScanner() = default;
  explicit BasicScanner(std::string_view text)
      : at_(text.data()), end_(text.data() + text.size()) {}

  const char* at() const { return at_; }
  const char* error() const { return error_; }  ///< nullptr if there is none
  const char* error_at() const { return error_at_; }

  /// Skips text that is known to be valid.
  void skip_to(const char* place) { at_ = place; }

  /// Excludes the currently open brackets from the nesting limit.
  void ignore_open_brackets() { ignored_ = depth_; }

  /// Returns true if an object may hold this many members; otherwise fails.
  [[gnu::always_inline]] bool admits(size_t members) {
    return !kStrict || members <= kMaxKeys || fail(kTooManyKeys);
  }

  /// Returns the next non-blank byte, or '\0' at the end.
  [[gnu::always_inline]] char peek() {
    while (at_ < end_ && is_blank(*at_)) ++at_;
    return at_ < end_ ? *at_ : '\0';
  }

  /// Enters an object or array. Returns true if it is not empty.
  [[gnu::always_inline]] bool enter(char opening) {
    if (peek() != opening) return fail("a bracket is missing");
    if constexpr (kStrict) {
      if (depth_ - ignored_ >= kMaxDepth) return fail(kTooDeep);
      ++depth_;
    }
    ++at_;
    const char closing = opening == '{' ? '}' : ']';
    if (peek() != closing) return at_ < end_ || fail(kCutOff);
    ++at_;
    --depth_;
    return false;
  }

  /// Must be called after a member: returns true if another follows; otherwise
  /// consumes the closing bracket. A tolerant scanner accepts a trailing comma.
  [[gnu::always_inline]] bool more(char closing) {
    const char next = peek();
    if (next != ',' && next != closing) {
      return fail(next == '\0' ? kCutOff : "a comma is missing");
    }
    ++at_;
    if (next == closing) return --depth_, false;
    if (kStrict || peek() != closing) return true;
    ++at_;
    return false;
  }

  /// Returns the name of an object member without quotes; also consumes its colon.
  [[gnu::always_inline]] std::string_view key() {
    if (peek() != '"') return fail("a quoted name is missing"), std::string_view();
    std::string_view quoted = text();
    if (quoted.empty()) return {};
    if (peek() != ':') return fail(kNoColon), std::string_view();
    ++at_;
    quoted.remove_prefix(1);
    quoted.remove_suffix(1);
    return quoted;
  }

  /// If the next member has this name, consumes it with its colon and
  /// returns true. Much faster than `key`: the branch is predictable,
  /// and there is no need to search for the closing quote.
  template <size_t N>
  [[gnu::always_inline]] bool take_key(const char (&name)[N]) {
    if (end_ - at_ <= static_cast<ptrdiff_t>(N) || *at_ != '"' || at_[N] != '"' ||
        std::memcmp(at_ + 1, name, N - 1) != 0) {
      return false;
    }
    at_ += N + 1;
    if (peek() == ':')
      ++at_;
    else
      fail(kNoColon);
    return true;
  }

  /// Returns the first letter of the next member's name, or '\0' if there is none.
  [[gnu::always_inline]] char key_letter() {
    return peek() == '"' && end_ - at_ > 1 ? at_[1] : '\0';
  }

  /// Returns any value verbatim: a string with its quotes and
  /// escapes, a number, a whole object. Empty only after an error.
  [[gnu::always_inline]] std::string_view value() {
    const char first = peek();
    if (first == '"') return text();
    if (first == '{' || first == '[') return container();
    return scalar();
  }

  /// Returns an integer; skips anything else and returns `otherwise`.
  int64_t integer(int64_t otherwise) {
    peek();
    const char* at = at_;
    int64_t value = 0;
    while (at < end_ && is_digit(*at) && at - at_ < 18)
      value = value * 10 + *at++ - '0';
    const bool whole = at > at_ && at < end_ && (*at == ',' || *at == '}');
    if (whole && (!kStrict || at - at_ == 1 || *at_ != '0')) {  // 007 is not JSON
      at_ = at;
      return value;
    }
    return parse_integer(this->value(), otherwise);
  }

 private:
  static constexpr const char* kCutOff = "unexpected end of file";
  static constexpr const char* kNoColon = "a colon is missing";
  static constexpr const char* kNotJson = "invalid JSON";

  static bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }

  bool fail(const char* why) {
    if (error_ == nullptr) error_ = why, error_at_ = at_;
    at_ = end_;
    return false;
  }

  /// Returns the next 16 bytes, zero-padded past the end of the text.
  Bytes16 block(const char* at) const {
    if (end_ - at >= 16) [[likely]]
      return Bytes16(at);
    char last[16] = {};
    std::memcpy(last, at, static_cast<size_t>(end_ - at));
    return Bytes16(last);
  }

  /// Returns a mask of the bytes that end a string or need a closer look.
  static uint32_t stops(const Bytes16& bytes) {
    uint32_t found = bytes.equal('"') | bytes.equal('\\');
    if constexpr (kStrict) found |= bytes.at_most('\x1f') | bytes.beyond_ascii();
    return found;
  }

  [[gnu::always_inline]] std::string_view text();
  [[gnu::noinline]] std::string_view long_text();
  std::string_view scalar();
  std::string_view container();
  std::string_view strict_scalar();
  std::string_view strict_container();
  const char* skip_digits(const char* at) const;
  const char* numbers(const char* at) const;

  const char *at_ = nullptr, *end_ = nullptr;
  const char *error_ = nullptr, *error_at_ = nullptr;
  int depth_ = 0, ignored_ = 0;  ///< open brackets (strict scanner only)
};

using Scanner = BasicScanner<Grammar::tolerant>;
using StrictScanner = BasicScanner<Grammar::strict>;

/// Consumes from the opening quote to the closing one.
template <Grammar grammar>
inline std::string_view BasicScanner<grammar>::text() {
  if (end_ - at_ <= 16) return long_text();
  const uint32_t found = stops(Bytes16(at_ + 1));
  const char* const at = at_ + 1 + std::countr_zero(found | 1u << 15);
  if (*at != '"') return long_text();  // which is rare
  const char* const begin = std::exchange(at_, at + 1);
  return {begin, static_cast<size_t>(at_ - begin)};
}

template <Grammar grammar>
std::string_view BasicScanner<grammar>::long_text() {
  const char* const begin = at_;
  bool plain = true;  // no escapes, nothing that needs validation
  for (const char* at = begin + 1; at < end_;) {
    const uint32_t found = stops(block(at));
    if (found == 0) {
      at += 16;
      continue;
    }
    at += std::countr_zero(found);
    if (at >= end_) break;
    if (*at == '"') {
      at_ = at + 1;
      const std::string_view quoted(begin, static_cast<size_t>(at_ - begin));
      if (kStrict && !plain && !is_valid_json(quoted)) fail(kNotJson);
      return quoted;
    }
    plain = false;
    at += *at == '\\' ? 2 : 1;  // a backslash and the byte it escapes
  }
  fail(kCutOff);
  return {};
}

template <Grammar grammar>
inline std::string_view BasicScanner<grammar>::scalar() {
  if constexpr (kStrict) return strict_scalar();
  const char* const begin = at_;
  while (at_ < end_) {
    const Bytes16 bytes = block(at_);
    const uint32_t found =
        bytes.equal(',') | bytes.equal('}') | bytes.equal(']') | bytes.at_most(' ');
    if (found != 0) {
      at_ += std::countr_zero(found);
      break;
    }
    at_ += 16;
  }
  if (at_ == begin || at_ >= end_) {
    fail(at_ >= end_ ? kCutOff : "a value is missing");
    return {};
  }
  return {begin, at_};
}

/// Consumes an object or array with its content. Only quotes and brackets matter here.
template <Grammar grammar>
inline std::string_view BasicScanner<grammar>::container() {
  if constexpr (kStrict) return strict_container();
  const char* const begin = at_;
  int depth = 0;
  while (at_ < end_) {
    const Bytes16 bytes = block(at_);
    const uint32_t found = bytes.equal('"') | bytes.equal('{') | bytes.equal('}') |
                           bytes.equal('[') | bytes.equal(']');
    if (found == 0) {
      at_ += 16;
      continue;
    }
    at_ += std::countr_zero(found);
    if (*at_ == '"') {
      text();
    } else if (*at_ == '{' || *at_ == '[') {
      if (++depth > kMaxDepth)
        fail(kTooDeep);
      else
        ++at_;
    } else {
      ++at_;
      if (--depth == 0) return {begin, at_};
    }
  }
  fail(kCutOff);
  return {};
}

template <Grammar grammar>
inline const char* BasicScanner<grammar>::skip_digits(const char* at) const {
  while (at < end_ && is_digit(*at)) ++at;
  return at;
}

/// Consumes a number, `true`, `false` or `null`, exactly as JSON defines them.
template <Grammar grammar>
inline std::string_view BasicScanner<grammar>::strict_scalar() {
  const char* const begin = at_;
  const auto done = [&](const char* at) {
    at_ = at;
    return std::string_view(begin, static_cast<size_t>(at - begin));
  };
  const char* at = begin;
  if (at < end_ && *at == '-') ++at;
  if (at < end_ && is_digit(*at)) {
    bool odd = false;  // may be too large for a double
    at = *at == '0' ? at + 1 : skip_digits(at);
    if (at + 1 < end_ && *at == '.' && is_digit(at[1])) at = skip_digits(at + 1);
    if (at < end_ && (*at == 'e' || *at == 'E')) {
      odd = true;
      const char* digits = at + 1;
      if (digits < end_ && (*digits == '+' || *digits == '-')) ++digits;
      if (digits < end_ && is_digit(*digits)) at = skip_digits(digits);
    }
    const std::string_view number = done(at);
    odd |= number.size() > 300;
    if (odd && !is_valid_json(number)) fail(kNotJson);
    return number;
  }
  for (const std::string_view word : {"true", "false", "null"}) {
    if (std::string_view(begin, static_cast<size_t>(end_ - begin)).starts_with(word)) {
      return done(begin + word.size());
    }
  }
  fail(begin >= end_ ? kCutOff : kNotJson);
  return {};
}

/// Returns the end of nested arrays of natural numbers,
/// such as shapes, or nullptr for anything else.
template <Grammar grammar>
inline const char* BasicScanner<grammar>::numbers(const char* at) const {
  int depth = 0;
  while (at < end_) {
    if (*at == '[') {
      if (++depth > 4) return nullptr;
      ++at;
      if (at < end_ && *at == ']') {
        // an empty array: closed below
      } else {
        continue;
      }
    } else {
      const char* const first = at;
      at = skip_digits(at);
      if (at == first || at - first > 300 || (*first == '0' && at - first > 1)) {
        return nullptr;
      }
    }
    while (at < end_ && *at == ']') {
      ++at;
      if (--depth == 0) return at;
    }
    if (at >= end_ || *at != ',') return nullptr;
    ++at;
  }
  return nullptr;
}

template <Grammar grammar>
inline std::string_view BasicScanner<grammar>::strict_container() {
  const char* const begin = at_;
  if (depth_ - ignored_ + 4 < kMaxDepth && *begin == '[') {
    if (const char* end = numbers(begin)) {
      at_ = end;
      return {begin, at_};
    }
  }
  if (*begin == '[') {
    for (bool more = enter('['); more; more = this->more(']')) value();
  } else {
    size_t keys = 0;
    for (bool more = enter('{'); more; more = this->more('}')) {
      if (!admits(++keys)) break;
      key();
      value();
    }
  }
  return error_ == nullptr ? std::string_view(begin, static_cast<size_t>(at_ - begin))
                           : std::string_view();
}

}  // namespace lockstep::tracer

// Goes through JSON text once, from front to back, and hands out pieces of it. Nothing
// is copied, no tree is built, and what nobody asks for is only stepped over, sixteen
// bytes at a time: that is what makes large traces open quickly.
//
//     for (bool more = scan.enter('{'); more; more = scan.more('}')) {
//       if (scan.key() == "name") name = scan.value();
//       else scan.value();
//     }
//
// After an error (damaged text, or its end where there should be more) the scanner
// stands at the end: every loop ends, and `error` says why.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "gui/model/bytes16.h"

namespace lockstep::gui {

class Scanner {
 public:
  static constexpr int kMaxDepth = 64;  ///< no honest trace is nested deeper

  Scanner() = default;
  explicit Scanner(std::string_view text)
      : at_(text.data()), end_(text.data() + text.size()) {}

  const char* at() const { return at_; }
  const char* error() const { return error_; }  ///< nullptr while all is well
  const char* error_at() const { return error_at_; }

  /// Returns the next byte that is not a blank; '\0' at the end.
  char peek() {
    while (at_ < end_ && is_blank(*at_)) ++at_;
    return at_ < end_ ? *at_ : '\0';
  }

  /// Goes into an object or array. True if there is something in it.
  bool enter(char opening) {
    if (peek() != opening) return fail("something is missing");
    ++at_;
    const char closing = opening == '{' ? '}' : ']';
    if (peek() != closing) return at_ < end_ || fail(kCutOff);
    ++at_;
    return false;
  }

  /// Behind a member: true if another follows; else the closing bracket is taken. A
  /// comma too many is forgiven.
  bool more(char closing) {
    const char next = peek();
    if (next != ',' && next != closing) {
      return fail(next == '\0' ? kCutOff : "there is no comma where one must be");
    }
    ++at_;
    if (next == closing) return false;
    if (peek() != closing) return true;
    ++at_;
    return false;
  }

  /// The name of an object's member, without quotes; its colon is taken too.
  std::string_view key() {
    if (peek() != '"') return fail("a name in quotes is missing"), std::string_view();
    std::string_view quoted = text();
    if (peek() != ':') return fail(kNoColon), std::string_view();
    ++at_;
    quoted.remove_prefix(1);
    quoted.remove_suffix(1);
    return quoted;
  }

  /// True if this is the name of the next member; then it is taken with its colon. Much
  /// quicker than `key`: the processor guesses the answer and need not search the
  /// quote.
  template <size_t N>
  bool take_key(const char (&name)[N]) {
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

  /// The first letter of the next member's name; '\0' if there is none.
  char key_letter() { return peek() == '"' && end_ - at_ > 1 ? at_[1] : '\0'; }

  /// Any value as it stands: a text with its quotes and escapes, a number, a whole
  /// object. Empty after an error only.
  std::string_view value() {
    const char first = peek();
    if (first == '"') return text();
    if (first == '{' || first == '[') return container();
    return scalar();
  }

  /// A whole number; anything else is stepped over, and `otherwise` returned.
  int64_t integer(int64_t otherwise) {
    peek();
    const char* at = at_;
    int64_t value = 0;
    while (at < end_ && is_digit(*at) && at - at_ < 18)
      value = value * 10 + *at++ - '0';
    if (at > at_ && at < end_ && (*at == ',' || *at == '}')) {
      at_ = at;
      return value;
    }
    return parse(this->value(), otherwise);
  }

  static int64_t parse(std::string_view token, int64_t otherwise);

 private:
  static constexpr const char* kCutOff = "it is cut off";
  static constexpr const char* kNoColon = "a colon is missing";

  static bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }
  static bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

  bool fail(const char* why) {
    if (error_ == nullptr) error_ = why, error_at_ = at_;
    at_ = end_;
    return false;
  }

  /// The next 16 bytes, also where the text ends sooner.
  Bytes16 block(const char* at) const {
    if (end_ - at >= 16) [[likely]]
      return Bytes16(at);
    char last[16] = {};
    std::memcpy(last, at, static_cast<size_t>(end_ - at));
    return Bytes16(last);
  }

  std::string_view text();
  std::string_view scalar();
  std::string_view container();

  const char *at_ = nullptr, *end_ = nullptr;
  const char *error_ = nullptr, *error_at_ = nullptr;
};

/// From the opening quote to the closing one.
inline std::string_view Scanner::text() {
  const char* const begin = at_;
  for (const char* at = begin + 1; at < end_;) {
    const Bytes16 bytes = block(at);
    const uint32_t found = bytes.equal('"') | bytes.equal('\\');
    if (found == 0) {
      at += 16;
      continue;
    }
    at += std::countr_zero(found);
    if (*at == '"') {
      at_ = at + 1;
      return {begin, at_};
    }
    at += 2;  // a backslash, and what it protects
  }
  fail(kCutOff);
  return {};
}

inline std::string_view Scanner::scalar() {
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

/// An object or array with all that is in it. Only quotes and brackets count here.
inline std::string_view Scanner::container() {
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
        fail("it is nested deeper than any trace");
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

}  // namespace lockstep::gui

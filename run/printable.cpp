#include "run/printable.h"

#include <fmt/format.h>

namespace lockstep::run {
namespace {

constexpr size_t kLongest = 2000, kEnd = 600;  // bytes; the end names the fix

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters, too: C2 80 to C2 9F in UTF-8.
    const bool high = c == 0xC2 && i + 1 < text.size() &&
                      static_cast<unsigned char>(text[i + 1]) >> 5 == 0b100;
    if (high) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
      shown += fmt::format("\\x{:02x}", c);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string shortened(const std::string& message) {
  if (message.size() <= kLongest) return message;
  size_t begin = kLongest - kEnd, end = message.size() - kEnd;
  while (begin > 0 && continues(message[begin])) --begin;
  while (end < message.size() && continues(message[end])) ++end;
  return message.substr(0, begin) + " … " + message.substr(end);
}

}  // namespace lockstep::run

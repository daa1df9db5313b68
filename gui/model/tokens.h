// What the pieces mean that the scanner cuts out of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gui/model/strings.h"

namespace lockstep::gui {

inline bool is_text(std::string_view token) {
  return token.size() >= 2 && token.front() == '"';
}

/// The content of a text, escapes as they are written; "" of anything else.
inline std::string_view content(std::string_view token) {
  return is_text(token) ? token.substr(1, token.size() - 2) : std::string_view();
}

/// Decimal microseconds as nanoseconds: 12.345 → 12345, exactly. False if the token is
/// no time, or lies out of range.
bool nanoseconds(std::string_view token, int64_t& result);

/// The content of a text as people read it: `\u00e9` is é, and bytes that are no UTF-8
/// are replaced.
std::string shown(std::string_view content);

/// The number under which a text is kept, as people read it; 0 beyond 16 million texts.
uint32_t string_number(Strings& strings, std::string_view token);

}  // namespace lockstep::gui

#include "gui/model/tokens.h"

#include <charconv>

#include "gui/model/scanner.h"
#include "tracer/format/times.h"
#include "tracer/format/trace.h"

namespace lockstep::gui {

int64_t Scanner::parse(std::string_view token, int64_t otherwise) {
  int64_t value = 0;
  const char* const end = token.data() + token.size();
  const auto result = std::from_chars(token.data(), end, value);
  return result.ec == std::errc() && result.ptr == end ? value : otherwise;
}

bool nanoseconds(std::string_view token, int64_t& result) {
  const auto digit = [&](size_t i) {
    return static_cast<unsigned char>(token[i] - '0');
  };
  const size_t size = token.size();
  // The form that we write goes the short way.
  if (size >= 5 && size <= 19 && token[size - 4] == '.') {
    int64_t value = 0;
    bool digits = true;
    for (size_t i = 0; i < size; ++i) {
      if (i == size - 4) continue;
      digits &= digit(i) < 10;
      value = value * 10 + digit(i);
    }
    if (digits) {
      result = value;
      return true;
    }
  }
  const auto exact =
      tracer::parse_microseconds(is_text(token) ? content(token) : token);
  if (exact) result = *exact;
  return exact.has_value();
}

std::string shown(std::string_view content) {
  const auto parse = [](const std::string& quoted) {
    return tracer::Json::parse(quoted, nullptr, false);
  };
  tracer::Json json = parse('"' + std::string(content) + '"');
  if (!json.is_string()) {  // bytes or escapes that JSON forbids: shown as they are
    json = parse(tracer::Json(content).dump(-1, ' ', false,
                                            tracer::Json::error_handler_t::replace));
  }
  return json.get<std::string>();
}

uint32_t string_number(Strings& strings, std::string_view token) {
  constexpr size_t kMaxStrings = (1u << 24) - 1;  // Event::name has 24 bits
  const std::string_view text = content(token);
  if (text.find('\\') == std::string_view::npos) {
    const uint32_t known = strings.find(text);
    if (known != Strings::kUnknown) return known;
  }
  return strings.size() < kMaxStrings ? strings.number(shown(text)) : 0;
}

}  // namespace lockstep::gui

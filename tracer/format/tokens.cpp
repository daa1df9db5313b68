#include "tracer/format/tokens.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "tracer/format/scanner.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

int64_t parse_integer(std::string_view token, int64_t otherwise) {
  int64_t value = 0;
  const char* const end = token.data() + token.size();
  const auto result = std::from_chars(token.data(), end, value);
  return result.ec == std::errc() && result.ptr == end ? value : otherwise;
}

bool is_valid_json(std::string_view token) { return nlohmann::json::accept(token); }

bool nanoseconds(std::string_view token, int64_t& result) {
  const auto digit = [&](size_t i) {
    return static_cast<unsigned char>(token[i] - '0');
  };
  const size_t size = token.size();
  // Fast path for the form that the writer produces.
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
  const auto exact = parse_microseconds(is_text(token) ? content(token) : token);
  if (exact) result = *exact;
  return exact.has_value();
}

std::string shown(std::string_view content) {
  using Json = nlohmann::ordered_json;
  const auto parse = [](const std::string& quoted) {
    return Json::parse(quoted, nullptr, false);
  };
  Json json = parse('"' + std::string(content) + '"');
  if (!json.is_string()) {  // bytes or escapes that JSON forbids: shown verbatim
    json = parse(Json(content).dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return json.get<std::string>();
}

}  // namespace lockstep::tracer

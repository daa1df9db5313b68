// Fields of CSV files, as RFC 4180 has them.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// Returns `field`, in quotes if it needs them: `1,"2"` → `"1,""2"""`.
inline std::string csv_field(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(field);
  }
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace lockstep

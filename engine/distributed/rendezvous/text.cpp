#include "engine/distributed/rendezvous/text.h"

#include <fmt/format.h>

#include <charconv>

namespace lockstep::distributed::store {

std::string shown(std::string_view text) {
  constexpr size_t most = 80;
  std::string line(text.substr(0, most));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  }
  return text.size() > most ? line + "..." : line;
}

std::string quoted(const std::vector<std::string>& keys) {
  constexpr size_t most = 8;
  std::string list;
  for (size_t i = 0; i < keys.size() && i < most; ++i) {
    list += fmt::format("{}\"{}\"", i ? ", " : "", shown(keys[i]));
  }
  if (keys.size() > most) list += fmt::format(" and {} more", keys.size() - most);
  return list;
}

std::string seconds(Milliseconds time) {
  return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000);
}

std::optional<int64_t> parse_number(std::string_view text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

}  // namespace lockstep::distributed::store

#include "engine/distributed/rendezvous/key_values.h"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/distributed/rendezvous/text.h"

namespace lockstep::distributed::store {

std::optional<std::string> KeyValues::find(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> KeyValues::missing(
    const std::vector<std::string>& keys) const {
  std::vector<std::string> absent;
  for (const std::string& key : keys) {
    if (!values_.contains(key)) absent.push_back(key);
  }
  return absent;
}

int64_t KeyValues::plus(const std::string& key, int64_t amount) const {
  const std::string text = find(key).value_or("0");
  const std::optional<int64_t> value = parse_number(text);
  int64_t sum = 0;
  if (!value || __builtin_add_overflow(*value, amount, &sum)) {
    throw std::runtime_error(
        fmt::format("{} cannot be added to \"{}\", which is \"{}\"", amount, shown(key),
                    shown(text)));
  }
  return sum;
}

bool KeyValues::matches(const std::string& key, const std::string& expected) const {
  return find(key).value_or("") == expected;
}

}  // namespace lockstep::distributed::store

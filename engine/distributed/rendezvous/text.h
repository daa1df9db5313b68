// Words that the stores' messages and files share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"

namespace lockstep::distributed::store {

/// `text` as fits into one line of a message, whatever a stranger has sent: cut at 80
/// bytes, control characters replaced by '?'.
std::string shown(std::string_view text);

/// "a", "b" and 3 more
std::string quoted(const std::vector<std::string>& keys);

/// "1.5 s"
std::string seconds(Milliseconds time);

/// All of `text` as a decimal number, or nullopt.
std::optional<int64_t> parse_number(std::string_view text);

}  // namespace lockstep::distributed::store

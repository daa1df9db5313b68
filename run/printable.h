// Text from outside, such as a file's name, in messages.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::run {

/// Returns `text` with control characters escaped (such as `\x1b`), so that no name
/// can move the terminal's cursor or change its colours. Keeps tabs and newlines.
std::string printable(std::string_view text);

/// Shortens a message to fit on one screen: omits the middle of a very long one, which
/// quotes a file.
std::string shortened(const std::string& message);

}  // namespace lockstep::run

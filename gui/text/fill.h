// Fills templates with facts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "gui/text/facts.h"
#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr size_t kLongestNarration = 260;  ///< in characters, without emphasis

/// Returns the first template, in the order of the keys, whose facts are all known,
/// filled in, or "" if there is none. Omits optional parts if it would exceed
/// `longest`.
std::string say(const Language& language, std::initializer_list<std::string_view> keys,
                const Facts& facts, size_t longest = kLongestNarration);

}  // namespace lockstep::gui

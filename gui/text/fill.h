// Facts into templates.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "gui/text/facts.h"
#include "gui/text/language.h"

namespace lockstep::gui {

inline constexpr size_t kLongestNarration = 260;  ///< characters, emphasis not counted

/// The first template, by the order of the keys, whose facts are all known, filled in;
/// "" if there is none. Optional parts are dropped where it would exceed `longest`.
std::string say(const Language& language, std::initializer_list<std::string_view> keys,
                const Facts& facts, size_t longest = kLongestNarration);

}  // namespace lockstep::gui

// A language of the viewer: a table of templates and the rule for plurals.
//
// A template is text with
//   {name}            a fact; a template whose fact is unknown is not used
//   {name:one|many}   a form, chosen by the number that the fact holds
//   [ … ]             a part that is left out if one of its facts is unknown, or if
//                     the whole would get too long (the last such part goes first)
//   **…**             emphasis
// Of several templates with one key, the first whose facts are all known is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep::gui {

struct Template {
  std::string_view key, text;
};

struct Language {
  std::span<const Template> templates;
  size_t (*form)(int64_t count);  ///< returns the form of {name:…|…}, from 0
};

}  // namespace lockstep::gui

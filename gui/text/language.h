// A language of the viewer: a table of templates, and its rule for plurals.
//
// A template is text with
//   {name}            a fact; a template whose fact is unknown is not used
//   {name:one|many}   a form, chosen by the number that the fact holds
//   [ … ]             a part that is left out if one of its facts is unknown, or if
//                     the whole would get too long (the last such part goes first)
//   **…**             emphasis
// Of several templates with one key the first is used whose facts are all known.
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
  size_t (*form)(int64_t count);  ///< which of {name:…|…}, from 0
};

}  // namespace lockstep::gui

// Fills facts into the sentence templates of a language.
//
// A language of the viewer consists of a table of templates and its plural rule.
//
// A template is text with
//   {name}            a fact; a template with an unknown fact is not used
//   {name:one|many}   a form, selected by the number that the fact holds
//   [ … ]             an optional part, omitted if one of its facts is unknown, or if
//                     the whole would be too long (the last such part is dropped first)
//   **…**             emphasis
// Of several templates with the same key, the first whose facts are all known is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::gui {

struct Template {
  std::string_view key, text;
};

struct Language {
  std::span<const Template> templates;
  size_t (*form)(int64_t count);  ///< returns the index of the form in {name:…|…}
};

/// Facts about an event in readable form: "46.8 MB", "device 2", "12 %".
///
/// A value that is missing from the trace or cannot be valid (negative bytes, text
/// instead of a number) never becomes a fact; templates then omit it.
class Facts {
 public:
  void number(std::string_view name, int64_t value);      ///< if at least 0
  void bytes(std::string_view name, int64_t value);       ///< if at least 1
  void time(std::string_view name, int64_t nanoseconds);  ///< if at least 1
  void share(std::string_view name, double part);         ///< if at least 1 %
  void times(std::string_view name, double ratio);        ///< "1.9"
  void per_second(std::string_view name, int64_t amount, int64_t nanoseconds);
  void flops(std::string_view name, int64_t value);  ///< "604 MFLOP"
  void bandwidth(std::string_view name, int64_t bytes, int64_t nanoseconds);
  void flop_rate(std::string_view name, int64_t flops, int64_t nanoseconds);
  /// Adds text from the trace, sanitised by `plain`.
  void text(std::string_view name, std::string_view value, size_t longest = 48);
  /// Adds text from a template.
  void phrase(std::string_view name, std::string value);

  const std::string* find(std::string_view name) const;  ///< nullptr if unknown
  std::optional<int64_t> count(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;
  std::map<std::string, int64_t, std::less<>> counts_;
};

/// Returns one line of valid UTF-8 without template syntax, of at most `longest`
/// characters ("…" included).
std::string plain(std::string_view text, size_t longest);

inline constexpr size_t kLongestNarration = 260;  ///< in characters, without emphasis

/// Returns the first template, in the order of the keys, whose facts are all known,
/// filled in, or "" if there is none. Omits optional parts if it would exceed
/// `longest`.
std::string say(const Language& language, std::initializer_list<std::string_view> keys,
                const Facts& facts, size_t longest = kLongestNarration);

}  // namespace lockstep::gui

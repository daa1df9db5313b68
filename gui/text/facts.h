// What is known about an event, as people read it: "46.8 MB", "device 2", "12 %".
//
// What the trace does not say, or says in a way that cannot be true (negative bytes, a
// text where a number belongs), never becomes a fact; a sentence then does without it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::gui {

class Facts {
 public:
  void number(std::string_view name, int64_t value);      ///< from 0
  void bytes(std::string_view name, int64_t value);       ///< from 1
  void time(std::string_view name, int64_t nanoseconds);  ///< from 1
  void share(std::string_view name, double part);         ///< from 1 %
  void times(std::string_view name, double ratio);        ///< "1.9"
  void per_second(std::string_view name, int64_t amount, int64_t nanoseconds);
  void flops(std::string_view name, int64_t value);  ///< "604 MFLOP"
  void bandwidth(std::string_view name, int64_t bytes, int64_t nanoseconds);
  void flop_rate(std::string_view name, int64_t flops, int64_t nanoseconds);
  /// A text out of the trace, made harmless by `plain`.
  void text(std::string_view name, std::string_view value, size_t longest = 48);
  /// A text out of templates.
  void phrase(std::string_view name, std::string value);

  const std::string* find(std::string_view name) const;  ///< nullptr: not known
  std::optional<int64_t> count(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;
  std::map<std::string, int64_t, std::less<>> counts_;
};

/// In one line of valid UTF-8, without the signs that templates use, and not longer
/// than so many characters ("…" included).
std::string plain(std::string_view text, size_t longest);

}  // namespace lockstep::gui

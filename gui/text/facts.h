// Facts about an event in readable form: "46.8 MB", "device 2", "12 %".
//
// A value that the trace lacks, or that cannot be true (negative bytes, text in place
// of a number), never becomes a fact; templates then omit it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::gui {

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

}  // namespace lockstep::gui

// The search field's small language: words that an event's name must contain, and
// conditions such as `bytes>1M dev:2 phase:reduce kind:copy time>=2ms`. All must hold.
#pragma once

#include <string>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

struct Filter {
  enum class Field : uint8_t {
    name,
    device,
    rank,
    step,
    phase,
    kind,
    why,
    bytes,
    time
  };
  enum class Test : uint8_t { is, more, less, at_least, at_most };
  struct Term {
    Field field = Field::name;
    Test test = Test::is;
    std::string text;    ///< for name, phase, kind, why
    int64_t number = 0;  ///< for device (-1: host), rank, step; bytes; ns
  };
  std::vector<Term> terms;
  std::string error;  ///< a sentence; empty if the filter is valid
};

/// Parses a search: terms separated by blanks. A word without one of the fields above
/// is part of a name (`aten::conv2d`, `nccl:all_reduce`); `"…"` may contain blanks.
Filter parse_filter(const std::string& text);

/// One line that names the fields, for help.
inline constexpr const char* kFilterHelp =
    "name, or dev:2 rank:1 step:3 phase:reduce kind:copy why:scatter bytes>1M "
    "time>=2ms";

/// Returns true if a name contains all words of the filter, ignoring case.
bool name_matches(const Filter& filter, const std::string& name);

/// Returns one byte per event: 1 if it matches. All 0 for an empty or invalid filter.
std::vector<uint8_t> matching_events(const Model& model, const Filter& filter);

/// Returns true if `name` contains `needle`, ignoring case.
bool contains(const std::string& name, const std::string& needle);

}  // namespace lockstep::gui

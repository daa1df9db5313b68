// What `trace check` says of a trace, for the top bar.
#pragma once

#include <string>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

struct Verdict {
  enum class State : uint8_t { not_checked, holds, broken };
  struct Violation {
    std::string law, message;
    uint32_t event = kNoEvent;
  };

  State state = State::not_checked;
  std::string why;  ///< why it was not checked
  size_t laws = 0, unjudged = 0;
  std::vector<Violation> violations;  ///< in the order of the laws, up to five each
};

/// Longer texts are not checked: loading them must not take longer.
inline constexpr size_t kMostChecked = size_t{16} << 20;

/// Checks the trace's text against the laws (tracer/analysis/check.h). Takes about as
/// long as loading it; call it once.
Verdict judge(const Model& model, size_t most = kMostChecked);

/// Returns "broken: nesting" or "not checked"; "" if every law holds.
std::string verdict_words(const Verdict& verdict);
/// Returns the broken law in words, how many laws hold, or why none was checked.
std::string verdict_tip(const Verdict& verdict);

}  // namespace lockstep::gui

// One or two plain sentences about the current event, with numbers from the trace:
// for readers who know PyTorch and want to understand why this happens.
#pragma once

#include <string>

#include "gui/model/breakdown.h"
#include "gui/model/state.h"
#include "gui/text/english.h"

namespace lockstep::gui {

struct Narration {
  std::string text;  ///< one line of at most about 260 characters; **emphasis**
};

/// Describes `state.event`. `of_step` is the breakdown of `state.step`. Pure and cheap
/// (well below a millisecond). Omits what the trace does not record and never guesses.
/// Returns a sentence for every event, including those in traces from other programs.
Narration narrate(const Model& model, const State& state, const Breakdown& of_step,
                  const Language& language = english());

}  // namespace lockstep::gui

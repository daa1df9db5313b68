// One or two plain sentences about the current event, with its numbers out of the
// trace: for somebody who knows PyTorch and wants to know why this happens.
#pragma once

#include <string>

#include "gui/model/breakdown.h"
#include "gui/model/state.h"
#include "gui/text/english.h"

namespace lockstep::gui {

struct Narration {
  std::string text;  ///< one line, at most about 260 characters; **emphasis**
};

/// About `state.event`. `of_step` is the breakdown of `state.step`. Pure and cheap
/// (well below a millisecond). What the trace does not say is left out, never guessed;
/// each event gets a sentence, those of foreign traces too.
Narration narrate(const Model& model, const State& state, const Breakdown& of_step,
                  const Language& language = english());

}  // namespace lockstep::gui

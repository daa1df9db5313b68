// Questions about a step that its trace can answer: asked before a phase, answered by
// playing it.
//
// Pure functions of the Model. Every answer is computed from the recorded events; a
// question whose answer the trace does not record, or that has no single answer, is not
// asked. Times of null devices have no meaning, so that nothing is asked about them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

struct Question {
  uint32_t phase = kNoEvent;  ///< the phase before which it is asked
  std::string text;
  std::vector<std::string> choices;  ///< two to four, all different
  size_t answer = 0;                 ///< the right one
  int64_t bytes = -1;   ///< the exact answer if it is an amount, which can be typed
  std::string because;  ///< how the events show it
};

/// Returns the questions of a step for the program of one rank, at most one per phase,
/// in the order of the program.
std::vector<Question> questions_of(const Model& model, size_t step, int rank);

/// Returns "Right: 134 MB. …" or what is different: "You said device 0, but it is …".
std::string verdict_on_choice(const Question& question, size_t choice);
std::string verdict_on_bytes(const Question& question, int64_t bytes);

/// Parses "134 MB", "134MB", "1.3e8" or "134000000"; units are decimal.
std::optional<int64_t> parse_bytes(const std::string& text);

/// Returns true if a typed amount is within 2 % of the answer: three digits suffice.
bool is_right(const Question& question, int64_t bytes);

}  // namespace lockstep::gui

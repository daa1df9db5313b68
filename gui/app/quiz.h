// "Predict, then reveal": playing pauses before a phase and asks. Plain data of an open
// trace; what is asked is a function of the trace (gui/model/quiz.h).
#pragma once

#include <string>
#include <vector>

#include "gui/model/position.h"
#include "gui/model/quiz.h"

namespace lockstep::gui {

class App;
struct OpenTrace;

struct Quiz {
  size_t step = SIZE_MAX;  ///< the step and the rank that `questions` are about
  int rank = 0;
  std::vector<Question> questions;
  std::vector<std::string> verdicts;  ///< "" while a question has not been answered
  size_t asking = SIZE_MAX;           ///< the question on the screen
  std::string typed;

  bool is_open() const { return asking < questions.size(); }
  bool is_answered() const { return is_open() && !verdicts[asking].empty(); }
};

/// Returns where playing from one position to another pauses for a question that has
/// not been asked: the event before its phase. Otherwise returns `to`.
Position paused_for_question(App& app, const Position& from, const Position& to);

/// Asks about the phase at the current position, if there is a question about it.
void ask_here(App& app);

/// Closes the question if the user has moved away from it.
void close_if_left(OpenTrace& trace);

void answer_choice(Quiz& quiz, size_t choice);
/// Returns false if the text is not an amount.
bool answer_typed(Quiz& quiz);

}  // namespace lockstep::gui

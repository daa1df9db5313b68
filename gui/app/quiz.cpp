#include "gui/app/quiz.h"

#include <algorithm>

#include "gui/app/app.h"

namespace lockstep::gui {

namespace {

constexpr const char* kSkipped = "Not answered.";

void take_questions(OpenTrace& trace) {
  Quiz& quiz = trace.quiz;
  if (quiz.step == trace.state.step && quiz.rank == trace.state.rank) return;
  quiz = {};
  quiz.step = trace.state.step;
  quiz.rank = trace.state.rank;
  quiz.questions = questions_of(*trace.model, quiz.step, quiz.rank);
  quiz.verdicts.resize(quiz.questions.size());
}

uint32_t place_of(const Model& model, const Question& question) {
  return model.events[question.phase].order;
}

/// Returns where the question is asked: the last call before the phase. A kernel that
/// it caused may run later than the phase, and would show the answer.
uint32_t pause_of(const Model& model, const Question& question) {
  uint32_t place = place_of(model, question);
  while (place > 0) {
    const Event& event = model.events[model.program[--place]];
    if (!event.is_task() && event.what() != Kind::mark) break;
  }
  return place;
}

Position ask(App& app, size_t number) {
  OpenTrace& trace = app.trace();
  trace.quiz.asking = number;
  trace.quiz.typed.clear();
  app.settings.transport.playing = false;
  const uint32_t place = pause_of(*trace.model, trace.quiz.questions[number]);
  return at_event(*trace.model, trace.model->program[place]);
}

}  // namespace

Position paused_for_question(App& app, const Position& from, const Position& to) {
  OpenTrace& trace = app.trace();
  take_questions(trace);
  Quiz& quiz = trace.quiz;
  if (quiz.is_open()) {  // playing on shows the answer
    if (!quiz.is_answered()) quiz.verdicts[quiz.asking] = kSkipped;
    quiz.asking = SIZE_MAX;
  }
  if (to.order != Order::program) return to;
  const bool follows = from.order == Order::program && from.place <= to.place;
  const uint32_t first = follows ? from.place : to.place;
  for (size_t i = 0; i < quiz.questions.size(); ++i) {
    const uint32_t place = place_of(*trace.model, quiz.questions[i]);
    const bool reached = first <= place && place <= to.place;
    if (reached && quiz.verdicts[i].empty()) return ask(app, i);
  }
  return to;
}

void ask_here(App& app) {
  OpenTrace& trace = app.trace();
  take_questions(trace);
  for (size_t i = 0; i < trace.quiz.questions.size(); ++i) {
    if (trace.quiz.questions[i].phase == trace.state.event) return app.go(ask(app, i));
  }
}

void close_if_left(OpenTrace& trace) {
  Quiz& quiz = trace.quiz;
  if (!quiz.is_open()) return;
  const Position& at = trace.position;
  const bool there = quiz.step == trace.state.step && at.order == Order::program &&
                     at.place == pause_of(*trace.model, quiz.questions[quiz.asking]);
  if (!there) quiz.asking = SIZE_MAX;
}

void answer_choice(Quiz& quiz, size_t choice) {
  const Question& question = quiz.questions[quiz.asking];
  if (choice >= question.choices.size() || quiz.is_answered()) return;
  quiz.verdicts[quiz.asking] = verdict_on_choice(question, choice);
}

bool answer_typed(Quiz& quiz) {
  const Question& question = quiz.questions[quiz.asking];
  const std::optional<int64_t> bytes = parse_bytes(quiz.typed);
  if (!bytes || question.bytes < 0 || quiz.is_answered()) return false;
  quiz.verdicts[quiz.asking] = verdict_on_bytes(question, *bytes);
  return true;
}

}  // namespace lockstep::gui

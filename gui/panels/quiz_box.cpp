// The question that is asked before a phase, in place of the narration.
#include <fmt/format.h>

#include <algorithm>

#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

constexpr float kQuizPad = 15, kChoices = 30;

float text_height(const Ui& ui, float width, const std::string& text) {
  return ui.text_rich({0, 0, width - 2 * kQuizPad, 0}, Type::prose, Type::title, 0, 0,
                      text, false);
}

std::string heading(const OpenTrace& trace) {
  const Quiz& quiz = trace.quiz;
  const Event& phase = trace.model->events[quiz.questions[quiz.asking].phase];
  return fmt::format("PREDICT · before {}", trace.model->name_of(phase));
}

/// A field for the answer, which has the keyboard.
void draw_field(const Ui& ui, const Rect& box, Quiz& quiz) {
  const bool entered = text_field(ui, "answer", box, "or type: 1.5 MB", quiz.typed,
                                  true) == Typing::entered;
  if (entered && !answer_typed(quiz)) quiz.typed.clear();
}

}  // namespace

float quiz_height(const Ui& ui, float width, const OpenTrace& trace) {
  const Quiz& quiz = trace.quiz;
  const Question& question = quiz.questions[quiz.asking];
  const std::string& verdict = quiz.verdicts[quiz.asking];
  const float below = verdict.empty() ? kChoices : text_height(ui, width, verdict) + 24;
  return 48 + text_height(ui, width, question.text) + below;
}

void draw_quiz(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  Quiz& quiz = app.trace().quiz;
  const Question& question = quiz.questions[quiz.asking];
  ui.fill(area, t.raised, 8);
  ui.frame(area, t.accent, 8, 1.6f);
  const float wide = area.w - 2 * kQuizPad;
  float y = area.y + kQuizPad - 4;
  ui.text(area.x + kQuizPad, y, Type::small, t.accent, heading(app.trace()));
  y += 18;
  y += ui.text_rich({area.x + kQuizPad, y, wide, area.h}, Type::prose, Type::title,
                    t.text, t.accent, question.text) +
       6;
  if (quiz.is_answered()) {
    y += ui.text_rich({area.x + kQuizPad, y, wide, area.h}, Type::prose, Type::title,
                      t.dim, t.accent, quiz.verdicts[quiz.asking]);
    ui.text(area.x + kQuizPad, area.bottom() - 20, Type::small, t.dim,
            "space plays it and shows whether this is so");
    return;
  }
  const bool types = question.bytes >= 0;
  const auto cells = static_cast<float>(question.choices.size() + (types ? 1 : 0));
  const float cell = std::min(190.0f, (wide - 8 * (cells - 1)) / cells);
  Rect box{area.x + kQuizPad, y + 4, cell, 26};
  for (size_t i = 0; i < question.choices.size(); ++i) {
    const std::string id = fmt::format("choice {}", i);
    const std::string label =
        types ? question.choices[i] : fmt::format("{}  {}", i + 1, question.choices[i]);
    if (ui.button(id.c_str(), box, label)) answer_choice(quiz, i);
    box.x += cell + 8;
  }
  if (types && !quiz.is_answered()) draw_field(ui, box, quiz);
}

}  // namespace lockstep::gui

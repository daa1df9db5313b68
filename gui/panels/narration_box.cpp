// Shows one sentence that describes the current event.
#include <algorithm>

#include "gui/model/narration.h"
#include "gui/panels/panels.h"

namespace lockstep::gui {

namespace {

constexpr float kPad = 15;

std::string sentence(App& app) {
  OpenTrace& trace = app.trace();
  const Caption caption = caption_now(trace, app.settings.transport);
  if (!caption.text.empty()) return caption.text;
  if (caption.says != kNoEvent && caption.says != trace.state.event) {
    const State said = state_at(*trace.model, at_event(*trace.model, caption.says));
    return narrate(*trace.model, said, trace.step).text;
  }
  return narrate(*trace.model, trace.state, trace.step).text;
}

}  // namespace

float narration_height(const Ui& ui, float width, App& app) {
  if (app.trace().quiz.is_open()) return quiz_height(ui, width, app.trace());
  const float high = ui.text_rich({0, 0, width - 2 * kPad, 0}, Type::prose, Type::title,
                                  0, 0, sentence(app), false);
  const float line =
      ui.text_rich({0, 0, width, 0}, Type::prose, Type::title, 0, 0, "x", false);
  return std::max(high, 2 * line) + 2 * kPad - 6;
}

void draw_narration(const Ui& ui, const Rect& area, App& app) {
  if (app.trace().quiz.is_open()) return draw_quiz(ui, area, app);
  const Theme& t = ui.theme;
  ui.fill(area, t.raised, 8);
  ui.frame(area, t.line, 8);
  ui.text_rich({area.x + kPad, area.y + kPad - 2, area.w - 2 * kPad, area.h},
               Type::prose, Type::title, t.text, t.accent, sentence(app));
}

}  // namespace lockstep::gui

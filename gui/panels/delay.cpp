#include "gui/panels/delay.h"

#include "base/units.h"

namespace lockstep::gui {

int64_t time_until(const OpenTrace& trace, uint32_t event) {
  return static_cast<int64_t>(trace.model->events[event].ts) - trace.state.now;
}

float draw_delay(const Ui& ui, const Rect& box, int64_t delay, float room) {
  const std::string text = "in " + human_time(delay);
  const float wide = ui.width(Type::small, text) + 8;
  if (wide > room / 2) return 0;
  const float y = box.y + (box.h - ui.line_height(Type::small)) / 2;
  ui.text_right(box.right() - 7, y, Type::small, ui.theme.faint, text);
  return wide;
}

}  // namespace lockstep::gui

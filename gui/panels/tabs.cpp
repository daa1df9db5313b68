#include "gui/panels/panels.h"

namespace lockstep::gui {

void draw_tabs(const Ui& ui, const Rect& area, const std::array<Tab, 2>& tabs,
               bool& second) {
  float x = area.x + 13;
  const bool was_second = second;
  for (const bool is_second : {false, true}) {
    const Tab& tab = tabs[is_second ? 1 : 0];
    const float wide = ui.width(Type::small, tab.name);
    const bool chosen = was_second == is_second;
    bool hovered = false;
    if (ui.clicked(tab.name, {x - 5, area.y + 3, wide + 10, 26}, &hovered)) {
      second = is_second;
    }
    if (hovered) ui.tooltip(tab.tip);
    ui.text(x, area.y + 9, Type::small,
            chosen || hovered ? ui.theme.text : ui.theme.faint, tab.name);
    if (chosen) ui.fill({x, area.y + 28, wide, 2}, ui.theme.accent);
    x += wide + 16;
  }
}

}  // namespace lockstep::gui

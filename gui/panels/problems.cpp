// A damaged file is shown up to the damage, with a warning.
#include <fmt/format.h>

#include "gui/panels/panels.h"

namespace lockstep::gui {

void draw_problems(const Ui& ui, const Rect& area, OpenTrace& trace) {
  const Theme& t = ui.theme;
  const std::vector<std::string>& problems = trace.model->problems;
  bool hovered = false;
  if (ui.clicked("problems", area, &hovered)) trace.problems_seen = true;
  std::string all;
  for (const std::string& problem : problems)
    all += (all.empty() ? "" : "\n") + problem;
  if (hovered) ui.tooltip(all);
  ui.fill(area, t.warning_background, 7);
  std::string line = problems.front();
  if (problems.size() > 1) line += fmt::format("  (and {} more)", problems.size() - 1);
  const float y = area.y + (area.h - ui.line_height(Type::body)) / 2;
  ui.text_cut(area.x + 13, y, area.w - 130, Type::body, t.warning, line);
  ui.text_right(area.right() - 13, y, Type::small, t.dim, "click to hide");
}

}  // namespace lockstep::gui

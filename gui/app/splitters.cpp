#include "gui/app/splitters.h"

#include <algorithm>
#include <cmath>

namespace lockstep::gui {

float Extent::of(float share) const {
  const float wanted = share > 0 ? share * whole : automatic;
  return std::round(std::clamp(wanted, least, std::max(least, most)));
}

void draw_splitter(const Ui& ui, const char* id, const Rect& gap, float from,
                   const Extent& extent, float& share) {
  if (gap.w <= 0 || gap.h <= 0 || extent.whole <= 0) return;
  const bool sideways = gap.h > gap.w;  // it is upright and moves left and right
  bool hovered = false;
  ui.clicked(id, gap, &hovered);
  const bool held = ImGui::IsItemActive();
  if (!hovered && !held) return;
  ImGui::SetMouseCursor(sideways ? ImGuiMouseCursor_ResizeEW
                                 : ImGuiMouseCursor_ResizeNS);
  const ImVec2 c = gap.centre();
  const Rect line =
      sideways ? Rect{c.x - 1, gap.y, 2, gap.h} : Rect{gap.x, c.y - 1, gap.w, 2};
  ui.fill(line, held ? ui.theme.accent : ui.theme.dim, 1);
  if (hovered && ImGui::IsMouseDoubleClicked(0)) {
    share = 0;
  } else if (held && ImGui::IsMouseDragging(0, 2)) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const float middle = (sideways ? gap.w : gap.h) / 2;
    const float wanted = std::abs((sideways ? mouse.x : mouse.y) - from) - middle;
    const float kept =
        std::clamp(wanted, extent.least, std::max(extent.least, extent.most));
    share = std::max(0.001f, kept / extent.whole);
  }
}

void toggle_by_title(const Rect& area, Pane pane, Settings& settings) {
  constexpr float kTitle = 31;
  const Rect title{area.x, area.y, area.w, std::min(kTitle, area.h)};
  // The timeline is one item and handles the mouse itself; tabs of others come first.
  const bool free = pane == Pane::timeline || !ImGui::IsAnyItemHovered();
  const bool covered = settings.help || settings.tour > 0;
  if (!free || covered || !title.contains(ImGui::GetIO().MousePos)) return;
  if (!ImGui::IsMouseDoubleClicked(0)) return;
  settings.enlarged = settings.enlarged == pane ? Pane::none : pane;
}

}  // namespace lockstep::gui

#include "gui/panels/icons.h"

#include <array>

namespace lockstep::gui {

void draw_icon(const Ui& ui, const Rect& box, Icon icon, ImU32 colour) {
  ImDrawList& list = *ui.list;
  const ImVec2 c = box.centre();
  const auto at = [&](float x, float y) { return ImVec2(c.x + x, c.y + y); };
  const auto line = [&](std::initializer_list<ImVec2> points) {
    std::array<ImVec2, 4> path{};
    size_t count = 0;
    for (const ImVec2& p : points) path[count++] = p;
    list.AddPolyline(path.data(), static_cast<int>(count), colour, 0, 1.8f);
  };
  const auto triangle = [&](float tip, float base) {
    list.AddTriangleFilled(at(base, -5.5f), at(tip, 0), at(base, 5.5f), colour);
  };
  switch (icon) {
    case Icon::play:
      triangle(6.5f, -4);
      break;
    case Icon::pause:
      list.AddRectFilled(at(-5, -5.5f), at(-1.5f, 5.5f), colour, 1);
      list.AddRectFilled(at(1.5f, -5.5f), at(5, 5.5f), colour, 1);
      break;
    case Icon::first:
      list.AddRectFilled(at(-6, -5.5f), at(-4, 5.5f), colour);
      list.AddTriangleFilled(at(5, -5.5f), at(-3, 0), at(5, 5.5f), colour);
      break;
    case Icon::last:
      list.AddRectFilled(at(4, -5.5f), at(6, 5.5f), colour);
      triangle(3, -5);
      break;
    case Icon::back:
      line({at(2.5f, -5), at(-2.5f, 0), at(2.5f, 5)});
      break;
    case Icon::forward:
      line({at(-2.5f, -5), at(2.5f, 0), at(-2.5f, 5)});
      break;
    case Icon::into:
      line({at(0, -6), at(0, 2.5f)});
      line({at(-3.5f, -1), at(0, 2.7f), at(3.5f, -1)});
      line({at(-5, 6), at(5, 6)});
      break;
    case Icon::caller:
      line({at(0, 3.5f), at(0, -5)});
      line({at(-3.5f, -1.7f), at(0, -5.4f), at(3.5f, -1.7f)});
      line({at(-5, 6), at(5, 6)});
      break;
  }
}

}  // namespace lockstep::gui

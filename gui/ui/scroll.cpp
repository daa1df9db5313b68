#include "gui/ui/scroll.h"

#include <algorithm>
#include <cmath>

namespace lockstep::gui {

Scroll::Scroll(const Ui& ui, const char* id, const Rect& area, float content,
               float wanted, int stamp)
    : ui_(ui), area_(area) {
  ImGuiStorage* storage = ImGui::GetStateStorage();
  ImGui::PushID(id);
  const ImGuiID stamp_key = ImGui::GetID("stamp"), moved_key = ImGui::GetID("moved");
  ImGui::PopID();
  if (storage->GetInt(stamp_key, -1) != stamp) {
    storage->SetInt(stamp_key, stamp);
    storage->SetFloat(moved_key, 0);
  }
  const float most = std::max(0.0f, content - area.h);
  wanted = std::clamp(wanted, 0.0f, most);
  float moved = storage->GetFloat(moved_key, 0);
  const ImGuiIO& io = ImGui::GetIO();
  const bool over = area.contains(io.MousePos) && ImGui::IsWindowHovered();
  if (over && io.MouseWheel != 0 && !io.KeyCtrl) moved -= io.MouseWheel * 54;
  moved = std::clamp(wanted + moved, 0.0f, most) - wanted;
  storage->SetFloat(moved_key, moved);
  offset_ = std::round(wanted + moved);

  ui.list->PushClipRect(area.min(), area.max(), true);
  if (most > 0) {
    const float grip = std::max(24.0f, area.h * area.h / content);
    const float at = (area.h - grip) * offset_ / most;
    ui.fill({area.right() - 5, area.y + at, 3, grip},
            with_alpha(ui.theme.dim, over ? 0.5f : 0.25f), 1.5f);
  }
}

Scroll::~Scroll() { ui_.list->PopClipRect(); }

}  // namespace lockstep::gui

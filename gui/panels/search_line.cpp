#include "gui/panels/search_line.h"

#include <fmt/format.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cctype>

#include "gui/panels/timeline.h"
#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

bool contains(const std::string& name, const std::string& needle) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  const auto same = [&](char a, char b) { return lower(a) == lower(b); };
  return std::search(name.begin(), name.end(), needle.begin(), needle.end(), same) !=
         name.end();
}

void go_to_hit(App& app, bool forward) {
  if (app.settings.search.empty() || !app.has_trace()) return;
  OpenTrace& trace = app.trace();
  const uint32_t hit =
      next_hit(*trace.model, app.settings.search, trace.state.event, forward);
  if (hit == kNoEvent) return;
  app.settings.transport.playing = false;
  app.go(at_event(*trace.model, hit));
}

void draw_search_line(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  const Rect box{area.x + 10, area.y + 5, area.w - 20, 25};
  ui.fill(box, t.sunken, 6);
  ui.frame(box, app.settings.searching ? t.accent : t.line, 6);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, IM_COL32(0, 0, 0, 0));
  ImGui::PushStyleColor(ImGuiCol_Text, t.text);
  ImGui::PushStyleColor(ImGuiCol_TextDisabled, t.faint);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {9, 4});
  ImGui::SetCursorScreenPos(box.min());
  ImGui::SetNextItemWidth(box.w);
  push_font(ui.fonts.get(Type::mono));
  const bool opened = app.settings.searching && !ImGui::IsAnyItemActive();
  if (opened) ImGui::SetKeyboardFocusHere();
  const bool entered = ImGui::InputTextWithHint(
      "##search", "name contains …", &app.settings.search,
      ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  if (entered) {
    app.settings.searching = false;
    go_to_hit(app, true);
  } else if (app.settings.searching && ImGui::IsItemDeactivated()) {
    app.settings.searching = false;
  }
  ImGui::PopFont();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(3);
}

}  // namespace lockstep::gui

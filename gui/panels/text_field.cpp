// A line of text that the user edits, with completion by the tab key; and windows on
// top of the panels.
#include <imgui.h>
#include <imgui_stdlib.h>

#include "gui/panels/widgets.h"
#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

namespace {

/// Returns the longest beginning that all candidates share.
std::string shared_beginning(const std::vector<std::string>& all) {
  std::string shared = all.empty() ? "" : all.front();
  for (const std::string& one : all) {
    size_t same = 0;
    while (same < shared.size() && same < one.size() && shared[same] == one[same])
      ++same;
    shared.resize(same);
  }
  return shared;
}

int complete(ImGuiInputTextCallbackData* data) {
  const auto& found = *static_cast<const std::vector<std::string>*>(data->UserData);
  const std::string longer = shared_beginning(found);
  if (longer.size() <= static_cast<size_t>(data->BufTextLen)) return 0;
  data->DeleteChars(0, data->BufTextLen);
  data->InsertChars(0, longer.c_str());
  return 0;
}

bool edit_completed(const std::string& label, const char* hint, std::string& text,
                    ImGuiInputTextFlags flags, const std::vector<std::string>* found) {
  if (found == nullptr)
    return ImGui::InputTextWithHint(label.c_str(), hint, &text, flags);
  // The string's own callback, which resizes it, calls this one.
  return ImGui::InputTextWithHint(
      label.c_str(), hint, &text, flags | ImGuiInputTextFlags_CallbackCompletion,
      complete, const_cast<std::vector<std::string>*>(found));
}

}  // namespace

Typing text_field(const Ui& ui, const char* id, const Rect& box, const char* hint,
                  std::string& text, bool focused,
                  const std::vector<std::string>* found) {
  const Theme& t = ui.theme;
  ui.fill(box, t.sunken, 6);
  ui.frame(box, focused ? t.accent : t.line, 6);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, IM_COL32(0, 0, 0, 0));
  ImGui::PushStyleColor(ImGuiCol_Text, t.text);
  ImGui::PushStyleColor(ImGuiCol_TextDisabled, t.faint);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {9, 4});
  ImGui::SetCursorScreenPos(box.min());
  ImGui::SetNextItemWidth(box.w);
  push_font(ui.fonts.get(Type::mono));
  if (focused && !ImGui::IsAnyItemActive()) ImGui::SetKeyboardFocusHere();
  const bool entered = edit_completed(
      std::string("##") + id, hint, text,
      ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll, found);
  const bool left = ImGui::IsItemDeactivated();
  const bool active = ImGui::IsItemActive();
  ImGui::PopFont();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(3);
  if (entered) return Typing::entered;
  if (left && focused) return Typing::left;
  return focused || active ? Typing::on : Typing::off;
}

Overlay::Overlay(const Ui& base, const char* name, const Rect& area)
    : ui(base.theme, base.fonts) {
  ImGui::SetNextWindowPos(area.min());
  ImGui::SetNextWindowSize({area.w, area.h});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::Begin(name, nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground |
                   ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoFocusOnAppearing);
  ui.list = ImGui::GetWindowDrawList();
  ui.list->PushClipRectFullScreen();  // a shadow reaches beyond the window
}

Overlay::~Overlay() {
  ui.list->PopClipRect();
  ImGui::End();
  ImGui::PopStyleVar(2);
}

}  // namespace lockstep::gui

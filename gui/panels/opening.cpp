// Which trace is shown: tabs of the open ones, the field that opens another, and the
// line at the bottom that tells what happened.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

/// Returns the traces' titles; traces with the same title get their file's name.
std::vector<std::string> titles_of(App& app) {
  std::vector<std::string> titles;
  std::map<std::string, int> seen;
  for (const OpenTrace& trace : app.traces()) {
    titles.push_back(trace_title(*trace.model));
    ++seen[titles.back()];
  }
  for (size_t i = 0; i < titles.size(); ++i) {
    if (seen[titles[i]] < 2) continue;
    const std::string& name = app.traces()[i].model->name;
    titles[i] += " · " + name.substr(name.find_last_of('/') + 1);
  }
  return titles;
}

/// Draws one line of the list below the field; returns true if it was clicked.
bool draw_choice(const Ui& ui, int id, const Rect& r, const std::string& file) {
  bool hovered = false;
  ImGui::PushID(id);
  const bool clicked = ui.clicked("choice", r, &hovered);
  ImGui::PopID();
  if (hovered) ui.fill(r, ui.theme.hover, 5);
  ui.text_cut(r.x + 10, r.y + 5, r.w - 20, Type::mono_small,
              hovered ? ui.theme.text : ui.theme.dim, file);
  return clicked;
}

}  // namespace

void draw_trace_tabs(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  const std::vector<std::string> titles = titles_of(app);
  const float most =
      std::min(320.0f, (area.w - 40) / static_cast<float>(titles.size()) - 6);
  float x = area.x;
  size_t closed = SIZE_MAX;
  for (size_t i = 0; i < titles.size(); ++i) {
    const float wide = std::min(most, ui.width(Type::body, titles[i]) + 48);
    const Rect r{x, area.y, wide, area.h};
    const bool own = i == app.current();
    bool hovered = false, over_cross = false;
    ImGui::PushID(static_cast<int>(i));
    const Rect cross{r.right() - 26, r.y + 3, 20, r.h - 6};
    if (ui.clicked("close", cross, &over_cross)) closed = i;
    if (ui.clicked("trace", {r.x, r.y, r.w - 28, r.h}, &hovered)) app.select_trace(i);
    if (hovered) ui.tooltip(app.traces()[i].model->name + "  (tab)");
    ImGui::PopID();
    ui.fill(r, own ? t.raised : hovered ? t.hover : t.panel, 6);
    ui.frame(r, own ? t.accent : t.line, 6);
    ui.text_cut(r.x + 12, r.y + (r.h - ui.line_height(Type::body)) / 2, wide - 44,
                Type::body, own ? t.text : t.dim, titles[i]);
    ui.text_centred(cross, Type::body, over_cross ? t.text : t.faint, "×");
    x += wide + 6;
  }
  const Rect plus{x, area.y, 28, area.h};
  bool hovered = false;
  if (ui.clicked("open another", plus, &hovered)) app.opening = {true, "", "", {}};
  if (hovered) ui.tooltip("open another trace  (ctrl o)");
  ui.text_centred(plus, Type::strong, hovered ? t.text : t.dim, "+");
  if (closed != SIZE_MAX) app.close_trace(closed);
}

void draw_open(const Ui& base, const Rect& screen, App& app) {
  constexpr float kChoice = 24;
  const Theme& t = base.theme;
  OpenField& field = app.opening;
  const std::vector<std::string>& choices =
      field.typed.empty() ? app.recent : field.found;
  const size_t shown = std::min<size_t>(choices.size(), 10);
  const float wide = std::min(720.0f, screen.w - 40);
  const float high = 92 + kChoice * static_cast<float>(std::max<size_t>(1, shown));
  const Rect card{screen.x + (screen.w - wide) / 2, screen.y + 70, wide, high};
  const Overlay over(base, "open a trace", card);
  const Ui& ui = over.ui;
  ui.fill({card.x, card.y + 3, card.w, card.h + 3}, t.shadow, 12);
  ui.fill(card, t.panel, 10);
  ui.frame(card, t.accent, 10);
  ui.text(card.x + 18, card.y + 12, Type::strong, t.text, "Open a trace");
  ui.text_right(card.right() - 18, card.y + 13, Type::small, t.faint,
                "tab completes, enter opens, esc closes");
  const Typing typing =
      text_field(ui, "open", {card.x + 16, card.y + 38, card.w - 32, 26},
                 "a file or folder", field.typed, true, &field.found);
  float y = card.y + 72;
  if (shown == 0) {
    ui.text(card.x + 26, y + 5, Type::small, t.faint,
            field.typed.empty() ? "no recent files" : "no such file or trace");
  }
  std::string chosen;
  for (size_t i = 0; i < shown; ++i, y += kChoice) {
    if (draw_choice(ui, static_cast<int>(i), {card.x + 16, y, card.w - 32, kChoice},
                    choices[i])) {
      chosen = choices[i];
    }
  }
  if (typing == Typing::entered) {
    const bool one = field.listed == field.typed && field.found.size() == 1;
    chosen = one ? field.found.front() : field.typed;
  }
  if (chosen.empty()) return;
  if (chosen.ends_with('/')) {
    field = {true, chosen, "", {}};
    return;
  }
  app.requested_file = chosen;
  field.shown = false;
}

void draw_message_line(const Ui& ui, const Rect& screen, const App& app) {
  if (app.message_left <= 0) return;
  const Theme& t = ui.theme;
  const float wide = std::min(screen.w - 60, ui.width(Type::body, app.message) + 36);
  const Rect box{screen.x + (screen.w - wide) / 2, screen.bottom() - 54, wide, 32};
  ui.fill({box.x, box.y + 2, box.w, box.h}, t.shadow, 9);
  ui.fill(box, t.raised, 8);
  ui.frame(box, t.accent, 8);
  ui.text_cut(box.x + 18, box.y + 8, box.w - 30, Type::body, t.text, app.message);
}

}  // namespace lockstep::gui

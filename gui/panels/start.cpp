// The screen shown without a trace: how to record one, errors, and loading progress.
#include <fmt/format.h>

#include <algorithm>

#include "gui/panels/panels.h"

namespace lockstep::gui {

namespace {

void command(const Ui& ui, const Rect& r, const char* line) {
  ui.fill(r, ui.theme.sunken, 6);
  ui.text_cut(r.x + 12, r.y + (r.h - ui.line_height(Type::mono)) / 2, r.w - 20,
              Type::mono, ui.theme.text, line);
}

}  // namespace

void draw_start(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  const float wide = std::min(620.0f, area.w - 40);
  Rect room{area.x + (area.w - wide) / 2, area.y + std::max(20.0f, area.h * 0.14f),
            wide, area.h};
  ui.text(room.x, room.y, Type::huge, t.text, "Play a training step");
  room.take_top(38);
  room.take_top(ui.text_rich(
      room, Type::body, Type::strong, t.dim, t.text,
      "A trace holds every call and every byte of a few training steps. Play, pause "
      "and step through them here, device by device, forwards and backwards."));
  room.take_top(18);
  if (!app.error.empty()) {
    const float high = ui.text_rich({0, 0, wide - 32, 0}, Type::body, Type::strong, 0,
                                    0, app.error, false);
    Rect box = room.take_top(high + 20);
    ui.fill(box, t.warning_background, 8);
    ui.text_rich({box.x + 16, box.y + 12, box.w - 32, box.h}, Type::body, Type::strong,
                 t.warning, t.warning, app.error);
    room.take_top(18);
  }
  ui.text(room.x, room.y, Type::strong, t.text,
          "Drag a trace onto this window, press ctrl o, or record one");
  room.take_top(26);
  command(
      ui, room.take_top(32),
      "./lockstep train --dataset generated --mode dp --steps 5 --trace run.json.gz");
  room.take_top(6);
  command(ui, room.take_top(32), "./lockstep view run.json.gz");
  room.take_top(16);
  ui.text(
      room.x, room.y, Type::strong, t.text,
      "Or record one device, DataParallel and DistributedDataParallel, with a tour");
  room.take_top(26);
  command(ui, room.take_top(32), "./lockstep demo");
  room.take_top(22);
  if (app.recent.empty()) return;
  ui.text(room.x, room.y, Type::strong, t.text, "Recently opened");
  room.take_top(24);
  for (size_t i = 0; i < std::min<size_t>(app.recent.size(), 8); ++i) {
    const Rect row = room.take_top(27);
    ImGui::PushID(static_cast<int>(i));
    bool hovered = false;
    if (ui.clicked("recent", row, &hovered)) app.requested_file = app.recent[i];
    ImGui::PopID();
    if (hovered) ui.fill(row, t.hover, 5);
    ui.text_cut(row.x + 10, row.y + 6, row.w - 20, Type::mono,
                hovered ? t.accent : t.dim, app.recent[i]);
  }
}

void draw_loading(const Ui& ui, const Rect& area, double progress,
                  const std::string& name) {
  const Theme& t = ui.theme;
  const float wide = std::min(460.0f, area.w - 40);
  const Rect bar{area.x + (area.w - wide) / 2, area.y + area.h * 0.45f, wide, 8};
  ui.text_cut(bar.x, bar.y - 26, wide - 60, Type::body, t.text, "reading " + name);
  ui.text_right(bar.right(), bar.y - 26, Type::body, t.dim,
                fmt::format("{:.0f} %", progress * 100));
  ui.bar(bar, static_cast<float>(progress), t.accent);
}

/// Draws a warning if the file is damaged, in which case it is shown up to the damage.
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

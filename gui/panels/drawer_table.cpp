// The sortable table of kernels and operations, and the statistics of a selection.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "gui/panels/drawer.h"
#include "gui/panels/timeline_parts.h"
#include "gui/panels/widgets.h"
#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

namespace {

constexpr float kTableRow = 20;

struct OpColumnPlace {
  OpColumn column;
  const char* name;
  float right;  ///< points from the right edge of the table to the column's right end
};

constexpr std::array<OpColumnPlace, 4> kOpColumns = {
    {{OpColumn::count, "count", 260},
     {OpColumn::total, "total", 182},
     {OpColumn::mean, "mean", 98},
     {OpColumn::slowest, "slowest", 14}}};

void sort_by(Settings& settings, OpColumn column) {
  settings.reversed = settings.sorted == column && !settings.reversed;
  settings.sorted = column;
}

/// Draws the head of one column; a click sorts by it, a second one the other way.
void draw_column_head(const Ui& ui, const Rect& r, const char* name, OpColumn column,
                      bool at_left, Settings& settings) {
  const Theme& t = ui.theme;
  const bool sorted = settings.sorted == column;
  bool hovered = false;
  if (ui.clicked(name, r, &hovered)) sort_by(settings, column);
  const ImU32 ink = sorted ? t.accent : hovered ? t.text : t.faint;
  const float wide = ui.width(Type::small, name);
  const float x = at_left ? r.x + 13 : r.right() - wide;
  ui.text(x, r.y + 3, Type::small, ink, name);
  if (!sorted) return;
  const float tip = at_left ? x + wide + 8 : x - 8, y = r.y + 10;
  const float up = settings.reversed == (column == OpColumn::name) ? 3.0f : -3.0f;
  ui.list->AddTriangleFilled({tip - 3.5f, y - up / 2}, {tip + 3.5f, y - up / 2},
                             {tip, y + up}, ink);
}

bool is_row_of(const OpRow& row, const Event& event) {
  return row.name == event.name && row.kind == event.what();
}

/// Sets the rows to those of a step (SIZE_MAX: all steps) unless they are.
void show_ops_of(OpTable& table, const Model& model, size_t step) {
  if (table.step == step && table.from == table.to) return;
  table = {op_table_of_step(model, step), 0, 0, step};
}

}  // namespace

void keep_sorted(const Settings& settings, const Model& model, OpTable& table) {
  if (table.column == settings.sorted && table.reversed == settings.reversed) return;
  table.column = settings.sorted, table.reversed = settings.reversed;
  sort_rows(model, table.rows, table.column, table.reversed);
}

void draw_op_rows(const Ui& ui, Rect room, App& app) {
  const Theme& t = ui.theme;
  OpenTrace& trace = app.trace();
  const Model& model = *trace.model;
  keep_sorted(app.settings, model, trace.ops);
  const bool timed = model.has_device_times();
  const Rect head = room.take_top(20);
  const float numbers = 330;
  draw_column_head(ui, {head.x, head.y, head.w - numbers, head.h}, "name",
                   OpColumn::name, true, app.settings);
  for (const OpColumnPlace& place : kOpColumns) {
    draw_column_head(ui, {head.right() - place.right - 66, head.y, 66, head.h},
                     place.name, place.column, false, app.settings);
  }
  const std::vector<OpRow>& rows = trace.ops.rows;
  const Event& current = model.events[trace.state.event];
  const OpTable& table = trace.ops;
  const bool selection = table.from != table.to;  // whose rows stay within it
  const int64_t begin = selection ? table.from : INT64_MIN;
  const int64_t end = selection ? table.to : INT64_MAX;
  const Scroll scroll(ui, "ops", room, kTableRow * static_cast<float>(rows.size()), 0,
                      0, kTableRow);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Rect r{room.x, scroll.top() + kTableRow * static_cast<float>(i), room.w,
                 kTableRow};
    if (!scroll.shows(r.y, r.h)) continue;
    const OpRow& row = rows[i];
    bool over_slowest = false, to_slowest = false;
    ImGui::PushID(static_cast<int>(i));
    if (timed || row.kind == Kind::op) {
      to_slowest =
          ui.clicked("slowest of", {r.right() - 86, r.y, 80, r.h}, &over_slowest);
    }
    if (over_slowest) ui.tooltip("go to the slowest one");
    const DrawerRow area =
        drawer_row(ui, 0, {r.x, r.y, r.w - 88, r.h}, is_row_of(row, current));
    if (area.hovered) ui.tooltip("click: next one; shift click: previous one");
    ImGui::PopID();
    const uint32_t to = to_slowest ? row.slowest_event
                        : area.clicked
                            ? next_instance(model, row, trace.state.event,
                                            !modifiers().shift, table.step, begin, end)
                            : kNoEvent;
    if (to != kNoEvent) {
      app.settings.transport.playing = false;
      app.go(at_event(model, to));
    }
    const float y = r.y + 3;
    ui.fill(
        {r.x + 13, r.y + 7, 7, 7},
        event_colour(t, model, row.slowest_event == kNoEvent ? 0 : row.slowest_event),
        2);
    const std::string kind = row_kind(row.kind);
    const float kind_wide = r.w > 560 ? 70.0f : 0.0f;
    ui.text_cut(r.x + 26, y, r.w - numbers - 34 - kind_wide, Type::mono_small,
                is_row_of(row, current) ? t.accent : t.text, model.strings[row.name]);
    if (kind_wide > 0) {
      ui.text(r.right() - numbers - kind_wide, y, Type::small, t.faint, kind);
    }
    const auto time = [&](int64_t ns) {
      return timed || row.kind == Kind::op ? human_time(ns) : std::string("–");
    };
    const std::array<std::string, 4> cells = {grouped(row.count), time(row.total),
                                              time(row.mean()), time(row.slowest)};
    for (size_t c = 0; c < cells.size(); ++c) {
      ui.text_right(r.right() - kOpColumns[c].right, y, Type::small,
                    c == 3 && over_slowest ? t.accent : t.dim, cells[c]);
    }
  }
}

void draw_op_table(const Ui& ui, const Rect& whole, App& app) {
  const Theme& t = ui.theme;
  OpenTrace& trace = app.trace();
  Settings& settings = app.settings;
  show_ops_of(trace.ops, *trace.model,
              settings.whole_trace ? SIZE_MAX : trace.state.step);
  Rect room = whole;
  const Rect foot = room.take_bottom(20);
  const std::string scope =
      settings.whole_trace
          ? "whole trace"
          : fmt::format("step {}", trace.model->steps[trace.state.step].number);
  const std::string other = settings.whole_trace ? "show this step" : "show all steps";
  ui.text(foot.x + 13, foot.y + 3, Type::small, t.faint,
          scope + " · op: host time, others: " +
              (trace.model->has_device_times() ? "device time"
                                               : "no times (null devices)") +
              " · ctrl e: save as CSV");
  const float wide = ui.width(Type::small, other) + 20;
  bool hovered = false;
  const Rect button{foot.right() - 14 - wide, foot.y + 1, wide, 19};
  if (trace.model->steps.size() > 1) {
    ui.fill(button, t.panel);
    if (ui.clicked("scope", button, &hovered)) {
      settings.whole_trace = !settings.whole_trace;
    }
    ui.text_centred(button, Type::small, hovered ? t.accent : t.code_call, other);
  }
  draw_op_rows(ui, room, app);
}

void draw_range(const Ui& ui, const Rect& whole, App& app) {
  const Theme& t = ui.theme;
  OpenTrace& trace = app.trace();
  const auto [from, to] = trace.timeline.selected;
  if (from >= to || trace.timeline.cache == nullptr) {
    ui.text_rich({whole.x + 13, whole.y + 8, whole.w - 26, whole.h}, Type::body,
                 Type::strong, t.dim, t.text,
                 "Hold **shift** and drag over the timeline to select a time.");
    return;
  }
  TimelineCache& cache = *trace.timeline.cache;
  if (cache.stats_range != trace.timeline.selected) {
    cache.stats = range_lines(*trace.model, cache.lod, from, to);
    cache.stats_range = trace.timeline.selected;
  }
  const bool drags = trace.timeline.gesture.drag == TimelineView::Drag::select;
  if (!drags && (trace.ops.from != from || trace.ops.to != to)) {
    trace.ops = {op_table(*trace.model, from, to), from, to, SIZE_MAX};
  }
  Rect room = whole;
  // The first lines: duration and events, busy devices, bytes.
  Rect head = room.take_top(22);
  float x = head.x + 13;
  for (const std::string& line : cache.stats) {
    const size_t tab = line.find('\t');
    const std::string name = line.substr(0, tab), value = line.substr(tab + 1);
    const bool is_name = &line != &cache.stats.front() && !name.ends_with("busy") &&
                         !name.starts_with("bytes") && !name.ends_with("mean");
    if (is_name) continue;
    const float wide =
        ui.width(Type::small, name) + 6 + ui.width(Type::strong, value) + 20;
    if (x + wide > head.right()) break;
    ui.text(x, head.y + 3, Type::small, t.dim, name);
    ui.text(x + ui.width(Type::small, name) + 6, head.y + 1, Type::strong, t.text,
            value);
    x += wide;
  }
  draw_op_rows(ui, room, app);
}

}  // namespace lockstep::gui

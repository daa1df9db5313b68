// The step's call tree, in which identical calls are merged, with count and total time.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

namespace {

constexpr float kRow = 20;
constexpr float kTime = 46;  ///< minimum width of the column of times, in points

/// Returns true if an entry is expanded. By default, the first levels and the ancestors
/// of the current event are; the user can toggle each entry.
bool is_open(const OpenTrace& trace, uint32_t entry,
             const std::vector<bool>& on_the_path) {
  const bool by_itself = trace.tree[entry].depth < 5 || on_the_path[entry];
  return by_itself != (trace.tree_toggled.count(trace.tree[entry].first) > 0);
}

/// Marks the entries that contain the current event and its callers.
std::vector<bool> path_to(const OpenTrace& trace) {
  std::vector<bool> on_the_path(trace.tree.size(), false);
  uint32_t begin = 0, end = static_cast<uint32_t>(trace.tree.size());
  int depth = 0;
  for (const uint32_t index : trace.state.stack) {
    const Event& event = trace.model->events[index];
    for (uint32_t entry = begin; entry < end; entry = trace.tree[entry].last) {
      if (trace.tree[entry].depth != depth || trace.tree[entry].name != event.name)
        continue;
      on_the_path[entry] = true;
      begin = entry + 1, end = trace.tree[entry].last;
      ++depth;
      break;
    }
  }
  return on_the_path;
}

struct Row {
  uint32_t entry;
  bool has_more, open;
};

void draw_row(const Ui& ui, const Rect& r, const Row& row, bool current, float indent,
              App& app) {
  const Theme& t = ui.theme;
  OpenTrace& trace = app.trace();
  const CallEntry& entry = trace.tree[row.entry];
  const std::string& search = app.settings.search;
  const bool dimmed =
      !search.empty() &&
      !name_matches(parse_filter(search), trace.model->strings[entry.name]);
  const float x = r.x + 12 + indent * static_cast<float>(entry.depth);
  const float y = r.y + (kRow - ui.line_height(Type::mono)) / 2;
  ImGui::PushID(static_cast<int>(row.entry));
  bool hovered = false, over_sign = false;
  const Rect sign{x - 2, r.y, 13, kRow};
  if (row.has_more && ui.clicked("sign", sign, &over_sign)) {
    if (!trace.tree_toggled.erase(entry.first)) trace.tree_toggled.insert(entry.first);
  }
  if (ui.clicked("row", {sign.right(), r.y, r.right() - sign.right(), kRow},
                 &hovered)) {
    app.settings.transport.playing = false;
    app.go(at_event(*trace.model, entry.first));
  }
  ImGui::PopID();
  if (current) {
    ui.fill(r, t.accent_background);
    ui.fill({r.x, r.y, 3, r.h}, t.accent);
  } else if (hovered || over_sign) {
    ui.fill(r, t.hover);
  }
  if (row.has_more) {
    const ImVec2 c(x + 3, r.y + kRow / 2);
    const ImU32 ink = over_sign ? t.accent : t.faint;
    if (row.open) {
      ui.list->AddTriangleFilled({c.x - 3.5f, c.y - 2}, {c.x, c.y + 3},
                                 {c.x + 3.5f, c.y - 2}, ink);
    } else {
      ui.list->AddTriangleFilled({c.x - 2, c.y - 3.5f}, {c.x - 2, c.y + 3.5f},
                                 {c.x + 3, c.y}, ink);
    }
  }
  const std::string time = human_time(entry.time);
  const std::string count = entry.count > 1 ? fmt::format("×{}", entry.count) : "";
  const Event& event = trace.model->events[entry.first];
  const std::string name = display_name(*trace.model, event, app.settings.cpp_names);
  const float count_width = count.empty() ? 0 : ui.width(Type::small, count) + 10;
  const float time_width = std::max(
      kTime,
      draw_clocked(ui, r.right() - 12, y + 1, time, clock_of(event),
                   dimmed ? t.faint : t.dim,
                   r.right() - 34 - x - count_width - ui.width(Type::mono, name)));
  const float right = r.right() - 12 - time_width;
  if (!count.empty()) {
    ui.text_right(right - 10, y + 1, Type::small, t.faint, count);
  }
  ui.text_cut(x + 12, y, right - count_width - 8 - x - 12, Type::mono,
              dimmed    ? t.faint
              : current ? t.accent
                        : t.text,
              name);
}

}  // namespace

void draw_call_tree(const Ui& ui, Rect inside, App& app) {
  OpenTrace& trace = app.trace();
  if (trace.tree_of != trace.state.step || trace.tree_rank != trace.state.rank) {
    trace.tree = calls_by_name(*trace.model, trace.state.step, trace.state.rank);
    trace.tree_of = trace.state.step;
    trace.tree_rank = trace.state.rank;
  }
  const std::vector<bool> on_the_path = path_to(trace);
  std::vector<Row> rows;
  uint32_t current = 0;
  float indent = 11;
  const float character = ui.width(Type::mono, "m");
  for (uint32_t entry = 0; entry < trace.tree.size();) {
    const bool has_more = trace.tree[entry].last > entry + 1;
    const bool open = has_more && is_open(trace, entry, on_the_path);
    if (on_the_path[entry]) current = static_cast<uint32_t>(rows.size());
    rows.push_back({entry, has_more, open});
    const CallEntry& own = trace.tree[entry];
    const float need =
        static_cast<float>(trace.model->strings[own.name].size()) * character + kTime +
        (own.count > 1 ? 80.0f : 46.0f);
    if (own.depth > 0) {
      indent = std::min(indent, (inside.w - need) / static_cast<float>(own.depth));
    }
    entry = open ? entry + 1 : trace.tree[entry].last;
  }
  indent = std::max(indent, 3.0f);
  const Scroll scroll(ui, "tree", inside, kRow * static_cast<float>(rows.size()),
                      kRow * static_cast<float>(current) - inside.h * 0.55f,
                      static_cast<int>(trace.state.event), kRow);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Rect r{inside.x, scroll.top() + kRow * static_cast<float>(i), inside.w, kRow};
    if (!scroll.shows(r.y, r.h)) continue;
    draw_row(ui, r, rows[i], i == current, indent, app);
  }
}

}  // namespace lockstep::gui

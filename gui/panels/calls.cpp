// The call stack from the training step down to the current event, with the calls
// before and after it.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/model/servers.h"
#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

namespace {

constexpr float kRowHeight = 21;

enum class Tense { past, path, current, future, more };

struct Line {
  uint32_t event = kNoEvent;
  int depth = 0;
  Tense tense = Tense::path;
};

bool is_shown(const Event& event) { return event.what() != Kind::mark; }

/// Returns at most `limit` siblings after `event`, in program order.
std::vector<uint32_t> siblings_behind(const Model& model, uint32_t event, size_t limit,
                                      bool& more) {
  std::vector<uint32_t> found;
  const uint32_t parent = model.events[event].parent;
  const auto end = parent == kNoEvent ? static_cast<uint32_t>(model.program.size())
                                      : model.events[parent].last;
  more = false;
  for (uint32_t place = model.events[event].last; place < end;) {
    const uint32_t next = model.program[place];
    if (is_shown(model.events[next])) {
      if (found.size() == limit) {
        more = true;
        break;
      }
      found.push_back(next);
    }
    place = model.events[next].last;
  }
  return found;
}

std::vector<uint32_t> siblings_before(const Model& model, uint32_t event, size_t limit,
                                      bool& more) {
  std::vector<uint32_t> found;
  const uint32_t parent = model.events[event].parent;
  more = false;
  uint32_t place = model.events[event].order;
  for (;;) {
    if (place == 0) break;
    const Position before =
        moved(model, {Order::program, 0, place, 0}, Move::back_over);
    const uint32_t sibling = model.program[before.place];
    if (sibling == parent || model.events[sibling].parent != parent) break;
    place = before.place;
    if (!is_shown(model.events[sibling])) continue;
    if (found.size() == limit) {
      more = true;
      break;
    }
    found.push_back(sibling);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// Returns the neighbours to show: some at the innermost levels, none at outer levels.
size_t neighbours(size_t level, size_t levels) {
  const size_t from_end = levels - 1 - level;
  return from_end == 0 ? 4 : from_end <= 2 ? 3 : 0;
}

void add_level(const Model& model, const std::vector<uint32_t>& path, size_t level,
               std::vector<Line>& rows) {
  const auto depth = static_cast<int>(level);
  const size_t limit = neighbours(level, path.size());
  bool more = false;
  if (limit > 0 && level > 0) {
    const auto before = siblings_before(model, path[level], limit, more);
    if (more) rows.push_back({kNoEvent, depth, Tense::more});
    for (const uint32_t event : before) rows.push_back({event, depth, Tense::past});
  }
  const bool last = level + 1 == path.size();
  rows.push_back({path[level], depth, last ? Tense::current : Tense::path});
  if (last) {
    const Event& event = model.events[path[level]];
    if (event.last > event.order + 1) {
      const uint32_t first = model.program[event.order + 1];
      std::vector<uint32_t> children;
      if (is_shown(model.events[first])) children.push_back(first);
      for (const uint32_t next : siblings_behind(model, first, 4, more)) {
        children.push_back(next);
      }
      for (const uint32_t child : children) {
        rows.push_back({child, depth + 1, Tense::future});
      }
      if (more) rows.push_back({kNoEvent, depth + 1, Tense::more});
    }
  } else {
    add_level(model, path, level + 1, rows);
  }
  if (limit > 0 && level > 0) {
    const auto behind = siblings_behind(model, path[level], limit, more);
    for (const uint32_t event : behind) rows.push_back({event, depth, Tense::future});
    if (more) rows.push_back({kNoEvent, depth, Tense::more});
  }
}

void draw_row(const Ui& ui, const Rect& r, float indent, const Line& row, App& app) {
  const Theme& t = ui.theme;
  const Model& model = *app.trace().model;
  const float y = r.y + (kRowHeight - ui.line_height(Type::mono)) / 2;
  const float x = r.x + 13 + indent * static_cast<float>(row.depth);
  if (row.tense == Tense::more) {
    ui.text(x, y, Type::mono, t.faint, "…");
    return;
  }
  const Event& event = model.events[row.event];
  ImGui::PushID(static_cast<int>(row.event));
  bool hovered = false;
  if (ui.clicked("row", r, &hovered)) {
    app.settings.transport.playing = false;
    app.go(at_event(model, row.event));
  }
  ImGui::PopID();
  const bool current = row.tense == Tense::current;
  if (current) {
    ui.fill(r, t.accent_background);
    ui.fill({r.x, r.y, 3, r.h}, t.accent);
  } else if (hovered) {
    ui.fill(r, t.hover);
  }
  const std::string time = time_of_event(model, event);
  const std::string name = display_name(model, event, app.settings.cpp_names);
  const float time_width = draw_clocked(
      ui, r.right() - 12, y + 1, time, clock_of(event), current ? t.text : t.dim,
      r.right() - 22 - x - ui.width(Type::mono, name));
  const ImU32 ink = row.event == model.failed  ? t.warning
                    : current                  ? t.accent
                    : row.tense == Tense::path ? t.text
                    : row.tense == Tense::past ? t.dim
                                               : t.faint;
  const float room = r.right() - 22 - time_width - x;
  const float used = ui.text_cut(x, y, room, Type::mono, ink, name);
  if (room - used < 50) return;
  const auto tag = [&](const char* word, ImU32 colour) {
    const float width = ui.width(Type::small, word) + 12;
    const ImU32 ground = mixed(t.panel, colour, 0.25f);
    ui.fill({x + used + 8, r.y + 4, width, r.h - 8}, ground, 4);
    ui.text(x + used + 14, y + 1, Type::small, readable(colour, ground), word);
  };
  if (row.event == model.failed) return tag("failed", t.warning);
  if (event.what() != Kind::call) return;
  const tracer::Json args = args_of(model, event);
  if (!string_arg(args, keys::slot).empty()) {  // implemented by the learner
    return tag("yours", t.green);
  }
  ui.text_cut(x + used + 8, y + 1, room - used - 8, Type::mono_small, t.faint,
              string_arg(args, keys::module));
}

}  // namespace

void draw_calls(const Ui& ui, const Rect& area, App& app) {
  const OpenTrace& trace = app.trace();
  const Model& model = *trace.model;
  const Lane& lane = model.lanes[model.events[trace.state.event].lane];
  const std::string rank =
      model.ranks() > 1 ? rank_title(model, lane.rank) + " · " : "";
  const std::string place = !lane.is_host() ? device_label(model, lane.device)
                            : !rank.empty() && lane.thread != "main" ? ""
                                                                     : "host";
  const std::string thread = rank + (place.empty() ? "" : place + " · ") + lane.thread;
  Rect inside = ui.card(area, "", thread);
  draw_tabs(ui, area,
            {{{"CALLS", "the call stack of this event  (k)"},
              {"TREE", "this step's call tree  (k)"}}},
            app.settings.tree);
  if (app.settings.searching || !app.settings.search.empty()) {
    draw_search_line(ui, inside.take_top(34), app);
  }
  inside = {inside.x + 1, inside.y + 3, inside.w - 2, inside.h - 6};
  if (app.settings.tree) {
    draw_call_tree(ui, inside, app);
    return;
  }
  std::vector<Line> rows;
  add_level(model, trace.state.stack, 0, rows);
  float indent = 12;
  for (const Line& row : rows) {
    if (row.event == kNoEvent || row.depth == 0) continue;
    const Event& event = model.events[row.event];
    const float need =
        ui.width(Type::mono, display_name(model, event, app.settings.cpp_names)) +
        clocked_width(ui, time_of_event(model, event), clock_of(event)) + 37;
    indent = std::min(indent, (inside.w - need) / static_cast<float>(row.depth));
  }
  indent = std::max(indent, 2.0f);
  const auto current = std::find_if(rows.begin(), rows.end(), [](const Line& row) {
    return row.tense == Tense::current;
  });
  const float current_y = kRowHeight * static_cast<float>(current - rows.begin());
  const Scroll scroll(ui, "calls", inside, kRowHeight * static_cast<float>(rows.size()),
                      current_y - inside.h * 0.6f, static_cast<int>(trace.state.event),
                      kRowHeight);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Rect r{inside.x, scroll.top() + kRowHeight * static_cast<float>(i), inside.w,
                 kRowHeight};
    if (scroll.shows(r.y, r.h)) draw_row(ui, r, indent, rows[i], app);
  }
}

}  // namespace lockstep::gui

#include "gui/panels/drawer.h"

#include <fmt/format.h>

#include "base/units.h"
#include "gui/model/servers.h"
#include "gui/panels/timeline_parts.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

constexpr float kHit = 20;  ///< height of a row of search results

struct DrawerTab {
  Drawer drawer;
  std::string name;
  const char* tip;
};

std::vector<DrawerTab> drawer_tabs(const OpenTrace& trace) {
  const auto counted = [](const char* name, size_t count) {
    return count == 0 ? std::string(name) : fmt::format("{} {}", name, count);
  };
  return {{Drawer::notes, counted("NOTES", trace.notes.placed.size()),
           "bookmarks and notes  (b, a)"},
          {Drawer::table, "KERNELS & OPS",
           "how often each ran, and for how long: click a column to sort"},
          {Drawer::hits, "SEARCH", "what the search found  (/)"},
          {Drawer::range, "SELECTION", "what ran in the selected time  (shift drag)"},
          {Drawer::sliders, "WHAT IF", "sliders: other programs and hardware  (j)"}};
}

/// Draws the tabs and a cross that closes the drawer; returns the tabs' right end.
float draw_drawer_tabs(const Ui& ui, const Rect& area, App& app) {
  const Theme& t = ui.theme;
  float x = area.x + 13;
  for (const DrawerTab& tab : drawer_tabs(app.trace())) {
    const float wide = ui.width(Type::small, tab.name);
    if (x + wide > area.right() - 34) break;
    const bool chosen = app.settings.drawer == tab.drawer;
    bool hovered = false;
    ImGui::PushID(static_cast<int>(tab.drawer));
    if (ui.clicked("tab", {x - 6, area.y + 3, wide + 12, 26}, &hovered)) {
      app.settings.drawer = tab.drawer;
    }
    ImGui::PopID();
    if (hovered) ui.tooltip(tab.tip);
    ui.text(x, area.y + 9, Type::small, chosen || hovered ? t.text : t.faint, tab.name);
    if (chosen) ui.fill({x, area.y + 28, wide, 2}, t.accent);
    x += wide + 16;
  }
  const Rect close{area.right() - 30, area.y + 4, 24, 24};
  bool hovered = false;
  if (ui.clicked("close drawer", close, &hovered)) app.settings.drawer = Drawer::none;
  if (hovered) ui.tooltip("close  (x, esc)");
  const ImVec2 c = close.centre();
  const ImU32 ink = hovered ? t.text : t.dim;
  ui.list->AddLine({c.x - 4, c.y - 4}, {c.x + 4, c.y + 4}, ink, 1.5f);
  ui.list->AddLine({c.x - 4, c.y + 4}, {c.x + 4, c.y - 4}, ink, 1.5f);
  return x;
}

/// Returns the name of an event's lane: "host", "device 2 · copy".
std::string lane_words(const Model& model, const Event& event) {
  const Lane& lane = model.lanes[event.lane];
  std::string words = device_label(model, lane.device);
  if (model.ranks() > 1) words = rank_title(model, lane.rank) + " · " + words;
  return words;
}

}  // namespace

DrawerRow drawer_row(const Ui& ui, int id, const Rect& area, bool current) {
  DrawerRow row{area};
  ImGui::PushID(id);
  row.clicked = ui.clicked("row", area, &row.hovered);
  ImGui::PopID();
  if (current) {
    ui.fill(area, ui.theme.accent_background);
    ui.fill({area.x, area.y, 3, area.h}, ui.theme.accent);
  } else if (row.hovered) {
    ui.fill(area, ui.theme.hover);
  }
  return row;
}

void draw_drawer(const Ui& ui, const Rect& area, App& app) {
  Rect room = ui.card(area, "");
  draw_drawer_tabs(ui, area, app);
  room = {room.x + 1, room.y + 4, room.w - 2, room.h - 8};
  switch (app.settings.drawer) {
    case Drawer::notes:
      return draw_notes_list(ui, room, app);
    case Drawer::hits:
      return draw_hits(ui, room, app);
    case Drawer::range:
      return draw_range(ui, room, app);
    case Drawer::sliders:
      return draw_sliders(ui, room, app);
    default:
      return draw_op_table(ui, room, app);
  }
}

void draw_hits(const Ui& ui, const Rect& room, App& app) {
  const Theme& t = ui.theme;
  OpenTrace& trace = app.trace();
  const Model& model = *trace.model;
  const auto say = [&](const std::string& words, ImU32 ink) {
    ui.text_rich({room.x + 13, room.y + 8, room.w - 26, room.h}, Type::body,
                 Type::strong, ink, ink, words);
  };
  if (app.settings.search.empty()) {
    return say(std::string("Press / and type: ") + kFilterHelp, t.dim);
  }
  if (trace.timeline.cache == nullptr) return;
  const SearchHits& hits = trace.timeline.cache->hits;
  if (!hits.error.empty()) return say(hits.error, t.warning);
  if (hits.count == 0) {
    return say(fmt::format("No event matches '{}'. A search is {}", app.settings.search,
                           kFilterHelp),
               t.dim);
  }
  Rect list = room;
  const Rect head = list.take_top(20);
  ui.text_cut(head.x + 13, head.y + 2, head.w - 26, Type::small, t.dim,
              fmt::format("{} of {} events match '{}'{}",
                          grouped(static_cast<int64_t>(hits.count)),
                          grouped(static_cast<int64_t>(model.events.size())),
                          app.settings.search,
                          hits.events.size() < hits.count
                              ? fmt::format(", the first {}", grouped(kMostListed))
                              : ""));
  const auto next =
      std::lower_bound(hits.events.begin(), hits.events.end(), trace.state.event);
  const auto current = static_cast<float>(next - hits.events.begin());
  const Scroll scroll(ui, "hits", list, kHit * static_cast<float>(hits.events.size()),
                      kHit * current - list.h * 0.4f,
                      static_cast<int>(trace.state.event), kHit);
  const auto first =
      static_cast<size_t>(std::max(0.0f, (list.y - scroll.top()) / kHit));
  for (size_t i = first; i < hits.events.size(); ++i) {
    const Rect r{list.x, scroll.top() + kHit * static_cast<float>(i), list.w, kHit};
    if (r.y >= scroll.bottom()) break;
    const uint32_t index = hits.events[i];
    const Event& event = model.events[index];
    if (drawer_row(ui, static_cast<int>(i), r, index == trace.state.event).clicked) {
      app.settings.transport.playing = false;
      app.go(at_event(model, index));
    }
    const float y = r.y + 3;
    const Copy* copy = model.copy_of(index);
    std::string where = lane_words(model, event);
    if (copy != nullptr) where = human_bytes(copy->bytes) + " · " + where;
    const size_t step = model.step_of(event);
    const bool timed = !event.is_task() || model.has_device_times();
    std::string when = fmt::format("step {}", model.steps[step].number);
    if (timed) {
      when +=
          fmt::format(" + {:.3f} ms",
                      static_cast<double>(event.ts - model.steps[step].begin) * 1e-6);
    }
    const float time = draw_clocked(ui, r.right() - 14, y, time_of_event(model, event),
                                    clock_of(event), t.dim, 200);
    ui.text(r.x + 13, y, Type::small, t.faint, when);
    const float x = r.x + 160;
    const float right = r.right() - 14 - time - 12;
    const float wide = std::min(ui.width(Type::small, where), (right - x) * 0.5f);
    ui.text_cut(right - wide, y, wide + 1, Type::small, t.dim, where);
    ui.text_cut(x, y, right - wide - 10 - x, Type::mono_small, t.text,
                display_name(model, event, app.settings.cpp_names));
  }
}

}  // namespace lockstep::gui

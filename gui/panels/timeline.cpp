// The timeline: what ran when on each lane, at any zoom from the whole trace down to
// one nanosecond.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"
#include "gui/panels/timeline_tracks.h"

namespace lockstep::gui {

namespace {

constexpr float kLabels = 116, kAxis = 22, kOverview = 22, kBorder = 13;
constexpr float kLow = 200,
                kLowest = 90;  ///< heights in points below which the card is compact

void prepare(TimelineView& view, const Model& model) {
  if (view.cache == nullptr || view.cache->model != &model) {
    view.cache = std::make_shared<TimelineCache>(model);
  }
}

void arrange(TimelineFrame& frame, Rect inside) {
  inside.take_left(kBorder);
  inside.take_right(kBorder);
  const bool low = inside.h < kLow;
  frame.axis = inside.take_top(low ? kAxis - 2 : kAxis);
  inside.take_bottom(low ? 6 : 8);
  if (inside.h > kLowest) {
    frame.overview = inside.take_bottom(low ? kOverview - 7 : kOverview);
    inside.take_bottom(low ? 3 : 5);
  }
  frame.labels = inside.take_left(kLabels);
  frame.plot = inside;
  frame.axis.take_left(kLabels);
  if (frame.overview.h > 0) frame.overview.take_left(kLabels);
  frame.room = frame.plot.h;
}

/// Lets the plot start and end between two rows, so that none is cut.
void fit_rows(TimelineFrame& frame) {
  const std::vector<float>& starts = frame.cache.layout.row_starts;
  const float hidden = frame.cache.layout.height - frame.room;
  frame.top = 0;
  frame.plot.h = frame.labels.h = frame.room;
  float& scroll = frame.view.scroll;
  scroll = hidden > 0 ? std::clamp(scroll, 0.0f, hidden) : 0;
  if (hidden <= 0) return;
  if (scroll > 0) frame.top = *std::ranges::lower_bound(starts, scroll);
  if (scroll == hidden) scroll = frame.top;
  const auto below = std::ranges::upper_bound(starts, frame.top + frame.room);
  const float end = *std::prev(below);  // of the last row that fits
  if (end > frame.top) frame.plot.h = frame.labels.h = end - frame.top;
}

void lay_out_lanes(TimelineFrame& frame) {
  TimelineCache& cache = frame.cache;
  const int focus = cache.ranks > 1 ? frame.trace.state.rank : -1;
  const bool tracks = frame.app.settings.tracks;
  if (cache.layout_room != frame.room || cache.layout_open != frame.view.open ||
      cache.layout_focus != focus || cache.layout_tracks != tracks) {
    cache.layout =
        lay_out(frame.model, cache.lod, frame.view.open, frame.room, focus, tracks);
    cache.layout_tracks = tracks;
    cache.layout_focus = focus;
    cache.layout_room = frame.room;
    cache.layout_open = frame.view.open;
  }
  fit_rows(frame);
  if (cache.hits.needle != frame.app.settings.search) {
    cache.hits = find_hits(frame.model, cache.lod, frame.app.settings.search);
  }
}

void remember_places(const TimelineFrame& frame) {
  TimelineCache& cache = frame.cache;
  cache.axis = frame.axis, cache.labels = frame.labels;
  cache.plot = frame.plot, cache.overview = frame.overview;
  cache.top = frame.top;
}

/// Captures the mouse over the card, so that nothing beneath it receives clicks.
bool update_hover(const Rect& area) {
  ImGui::SetCursorScreenPos(area.min());
  ImGui::InvisibleButton("timeline", {area.w, area.h},
                         ImGuiButtonFlags_MouseButtonLeft |
                             ImGuiButtonFlags_MouseButtonMiddle |
                             ImGuiButtonFlags_MouseButtonRight);
  return ImGui::IsItemHovered();
}

/// Draws the name of the trace and its clock if the top bar has no room for them.
/// Returns where its text ends.
float draw_trace_name(const TimelineFrame& frame, float x0, float x1, float y) {
  if (ImGui::GetIO().DisplaySize.x > kNamesTrace || x1 - x0 < 60) return x0;
  const Ui& ui = frame.ui;
  const bool measured = frame.model.is_measured() && frame.model.has_device_times();
  const bool holds = frame.trace.verdict.state == Verdict::State::holds;
  const std::string title =
      fmt::format("{} · {}{}", trace_title(frame.model), clock_words(frame.model),
                  holds ? " · every law holds" : "");
  ui.text_cut(x0, y, x1 - x0, Type::small, measured ? ui.theme.dim : ui.theme.warning,
              title);
  return x0 + ui.width(Type::small, title) + 14;
}

void draw_title_bar(const TimelineFrame& frame, const Rect& area) {
  const std::string note = axis_note(frame);
  frame.ui.card(area, "TIMELINE", note);
  const float x1 = area.right() - 35 - frame.ui.width(Type::small, note);
  const float x0 = draw_tracks_switch(frame) + 14;
  draw_legend(frame, draw_trace_name(frame, x0, x1, area.y + 9), x1, area.y + 9);
}

}  // namespace

void draw_timeline(const Ui& ui, const Rect& area, App& app) {
  if (!app.has_trace() || area.w < 240 || area.h < 60) {
    ui.card(area, "TIMELINE");
    return;
  }
  OpenTrace& trace = app.trace();
  prepare(trace.timeline, *trace.model);
  TimelineFrame frame{
      ui, app, trace, *trace.model, trace.timeline, *trace.timeline.cache, {},
      {}, {},  {}};
  Rect inside = area;
  inside.take_top(31);
  arrange(frame, inside);
  frame.view.primitives = 0;
  if (frame.view.from == frame.view.to) {
    show_step(frame.model, trace.state.step, frame.view);
  }
  clamp_view(frame.model, frame.view, frame.plot.w);
  lay_out_lanes(frame);
  frame.mouse = ImGui::GetIO().MousePos;
  frame.toggle = tracks_switch(ui, area);
  frame.hovered = update_hover(area);
  prepare_tracks(frame);
  handle_mouse(frame);
  lay_out_lanes(frame);   // a click may have expanded lanes
  prepare_tracks(frame);  // it may have changed the order
  follow_position(frame);
  clamp_view(frame.model, frame.view, frame.plot.w);
  fit_rows(frame);
  remember_places(frame);

  draw_title_bar(frame, area);
  draw_grid(frame);
  draw_selection(frame);
  draw_lanes(frame);
  draw_ghost(frame);
  draw_tracks(frame);
  draw_labels(frame);
  draw_axis(frame);
  draw_current(frame);
  draw_path(frame);
  draw_flows(frame);
  draw_notes(frame);
  draw_playhead(frame);
  draw_overview(frame);
  draw_scrollbar(frame);
  draw_hover(frame);
}

}  // namespace lockstep::gui

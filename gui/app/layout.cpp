// The screen layout: the bar at the top, calls and source on the left, the stage in the
// middle, numbers on the right, and the timeline at the bottom.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "gui/app/app.h"
#include "gui/app/splitters.h"
#include "gui/panels/drawer.h"
#include "gui/panels/panels.h"
#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

namespace {

constexpr float kGap = 9;

/// Begins an empty full-screen window beneath the panels.
void begin_background(const Rect& screen, const Theme& theme) {
  ImGui::SetNextWindowPos(screen.min());
  ImGui::SetNextWindowSize({screen.w, screen.h});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, theme.background);
  ImGui::PushStyleColor(ImGuiCol_ScrollbarBg, IM_COL32(0, 0, 0, 0));
  ImGui::PushStyleColor(ImGuiCol_ScrollbarGrab, with_alpha(theme.dim, 0.35f));
  ImGui::PushStyleColor(ImGuiCol_ScrollbarGrabHovered, with_alpha(theme.dim, 0.6f));
  ImGui::PushStyleColor(ImGuiCol_ScrollbarGrabActive, theme.dim);
  ImGui::PushStyleVar(ImGuiStyleVar_ScrollbarSize, 8);
  ImGui::Begin("lockstep", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav |
                   ImGuiWindowFlags_NoBringToFrontOnFocus |
                   ImGuiWindowFlags_NoScrollWithMouse);
}

void end_background() {
  ImGui::End();
  ImGui::PopStyleVar(4);
  ImGui::PopStyleColor(5);
}

void draw_pane(const Ui& ui, Pane pane, const Rect& area, App& app) {
  switch (pane) {
    case Pane::calls:
      draw_calls(ui, area, app);
      break;
    case Pane::source:
      draw_source(ui, area, app);
      break;
    case Pane::stage:
      draw_middle_panel(ui, area, app);
      break;
    case Pane::drawer:
      draw_drawer(ui, area, app);
      break;
    case Pane::times:
      draw_step_times(ui, area, app);
      break;
    case Pane::ports:  // hidden while they are the answer to a question
      if (app.trace().quiz.is_open() && !app.trace().quiz.is_answered()) return;
      draw_ports(ui, area, app);
      break;
    case Pane::inspector:
      draw_inspector(ui, area, app);
      break;
    case Pane::timeline:
      draw_timeline(ui, area, app);
      break;
    case Pane::none:
      return;
  }
  toggle_by_title(area, pane, app.settings);
}

void draw_left(const Ui& ui, Rect column, App& app) {
  float& share = app.settings.panes.calls;
  const Extent calls{column.h, column.h * 0.5f - kGap / 2, 90, column.h - 90};
  const float top = column.y;
  draw_pane(ui, Pane::calls, column.take_top(calls.of(share)), app);
  draw_splitter(ui, "calls|source", column.take_top(kGap), top, calls, share);
  draw_pane(ui, Pane::source, column, app);
}

/// Draws the stage, and the drawer below it or, in a low window, in its place.
void draw_middle(const Ui& ui, Rect column, App& app) {
  constexpr float kBoth = 480;
  const bool opened = app.settings.drawer != Drawer::none;
  if (opened && column.h < kBoth) return draw_pane(ui, Pane::drawer, column, app);
  if (opened) {
    float& share = app.settings.panes.drawer;
    const float sliders = app.settings.drawer == Drawer::sliders
                              ? drawer_of_sliders_height(ui, column.w, app)
                              : 0;
    const Extent drawer{column.h, std::max(column.h * 0.4f, sliders), 120,
                        column.h - 260};
    const float end = column.bottom();
    const Rect area = column.take_bottom(drawer.of(share));
    draw_splitter(ui, "stage|drawer", column.take_bottom(kGap), end, drawer, share);
    draw_pane(ui, Pane::drawer, area, app);
  }
  draw_pane(ui, Pane::stage, column, app);
}

/// Gives the two upper panels the height of all of their rows if the event keeps some
/// room, and else a fraction of the column; they show whole rows in any height.
void draw_right(const Ui& ui, Rect column, App& app) {
  constexpr float kLowRow = 16, kRow = 18, kEvent = 118;
  const OpenTrace& trace = app.trace();
  Panes& panes = app.settings.panes;
  const float room = column.h - 2 * kGap;
  const auto heights = [&](float row) {
    return std::pair(step_times_height(trace, row), ports_height(trace, row));
  };
  auto [times_high, ports_high] = heights(kRow);
  if (times_high + ports_high + kEvent > room) {
    std::tie(times_high, ports_high) = heights(kLowRow);
  }
  if (times_high + ports_high + kEvent > room) {
    const auto cut = [](float high, float most) {  // by whole rows
      return high - kLowRow * std::ceil(std::max(0.0f, high - most) / kLowRow);
    };
    times_high = cut(times_high, room * 0.42f);
    ports_high = cut(ports_high, room * 0.25f);
  }
  const Extent times{column.h, times_high, 110, column.h - 110 - 78 - 2 * kGap};
  const float top = column.y;
  draw_pane(ui, Pane::times, column.take_top(times.of(panes.times)), app);
  draw_splitter(ui, "times|ports", column.take_top(kGap), top, times, panes.times);
  const Extent ports{room + 2 * kGap, ports_high, 78, column.h - 78 - kGap};
  const float middle = column.y;
  draw_pane(ui, Pane::ports, column.take_top(ports.of(panes.ports)), app);
  draw_splitter(ui, "ports|event", column.take_top(kGap), middle, ports, panes.ports);
  draw_pane(ui, Pane::inspector, column, app);
}

void draw_columns(const Ui& ui, Rect room, App& app) {
  constexpr float kStage = 320;  ///< least width
  Panes& panes = app.settings.panes;
  const Rect whole = room;
  const Extent right_extent{whole.w, std::clamp(whole.w * 0.205f, 222.0f, 520.0f), 200,
                            whole.w - kStage - 200 - 2 * kGap};
  const float right_wide = right_extent.of(panes.right);
  const Extent left_extent{whole.w, std::clamp(whole.w * 0.255f, 232.0f, 620.0f), 200,
                           whole.w - kStage - right_wide - 2 * kGap};
  const Rect left = room.take_left(left_extent.of(panes.left));
  draw_splitter(ui, "left|stage", room.take_left(kGap), whole.x, left_extent,
                panes.left);
  const Rect right = room.take_right(right_wide);
  draw_splitter(ui, "stage|right", room.take_right(kGap), whole.right(), right_extent,
                panes.right);
  app.tour_places = {room, app.tour_places[1], left, right, app.tour_places[4]};
  draw_left(ui, left, app);
  draw_middle(ui, room, app);
  draw_right(ui, right, app);
}

void draw_panels(const Ui& ui, Rect room, App& app) {
  const bool compares = app.settings.compare && app.traces().size() > 1;
  const Pane enlarged = app.settings.enlarged;
  if (enlarged != Pane::none && !compares) return draw_pane(ui, enlarged, room, app);
  float& share = app.settings.panes.timeline;
  const bool tracks = app.settings.tracks;
  const float most = room.h < 600 ? 0.4f : 0.46f;  // with tracks
  const float part = compares ? (tracks ? 0.36f : 0.2f) : tracks ? most : 0.29f;
  const float least = compares && !tracks ? 120 : 168;
  const Extent extent{room.h, std::clamp(room.h * part, least, 560.0f), 100,
                      room.h - 240};
  const float end = room.bottom();
  const Rect timeline = room.take_bottom(extent.of(share));
  draw_splitter(ui, "stage|timeline", room.take_bottom(kGap), end, extent, share);
  app.tour_places[4] = timeline;
  if (compares)
    draw_compare(ui, room, app);
  else
    draw_columns(ui, room, app);
  draw_pane(ui, Pane::timeline, timeline, app);
}

}  // namespace

void draw_middle_panel(const Ui& ui, const Rect& area, App& app) {
  if (app.settings.pipeline) {
    draw_pipeline(ui, area, app);
  } else if (app.settings.why) {
    draw_why(ui, area, app);
  } else if (app.settings.exposed) {
    draw_collectives(ui, area, app);
  } else {
    draw_stage(ui, area, app, app.trace());
  }
}

void draw_screen(Ui& ui, const Rect& screen, App& app, double progress,
                 const std::string& loading) {
  begin_background(screen, ui.theme);
  ui.list = ImGui::GetWindowDrawList();
  const float pixels = ImGui::GetIO().DisplayFramebufferScale.x;
  sharpen_lines(*ui.list, pixels > 0 ? pixels : 1);
  if (app.settings.cut != Cut::window && app.has_trace()) {
    draw_film(ui, screen, app);
    return end_background();
  }

  const bool whole = app.has_trace() && app.settings.enlarged == Pane::none;
  ui.covered =
      app.settings.help || app.opening.shown || (app.settings.tour > 0 && whole);
  Rect room = screen;
  draw_top_bar(ui, room.take_top(48), app);
  room = {room.x + 11, room.y + kGap, room.w - 22, room.h - kGap - 11};
  if (!loading.empty() && progress < 1 && app.is_loading()) {
    draw_loading(ui, room, progress, loading);
  } else if (!app.has_trace()) {
    draw_start(ui, room, app);
  } else {
    OpenTrace& trace = app.trace();
    if (!trace.model->problems.empty() && !trace.problems_seen) {
      draw_problems(ui, room.take_top(28), trace);
      room.take_top(kGap);
    }
    if (app.traces().size() > 1 && !app.settings.compare) {
      const bool low = screen.h < 700;
      draw_trace_tabs(ui, room.take_top(low ? 24 : 27), app);
      room.take_top(low ? 6 : kGap);
    }
    if (app.has_trace()) draw_panels(ui, room, app);
  }
  ui.covered = false;
  if (app.settings.tour > 0 && whole) draw_tour(ui, screen, app);
  if (app.opening.shown) draw_open(ui, screen, app);
  draw_message_line(ui, screen, app);
  if (app.settings.help) draw_help(ui, screen, app);
  end_background();
}

}  // namespace lockstep::gui

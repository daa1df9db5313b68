// The screen layout: the bar at the top, calls and source on the left, the stage in the
// middle, numbers on the right, and the timeline at the bottom.
#include <algorithm>
#include <cmath>

#include "gui/app/app.h"
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

float between(float low, float share, float high) {
  return std::round(std::clamp(share, low, std::max(low, high)));
}

/// Returns the number of lines in the port panel: one for each device and direction
/// that carries any data.
float port_lines(const OpenTrace& trace) {
  float lines = 0;
  const PortBytes* before = nullptr;
  for (const PortBytes& port : trace.step.ports) {
    lines +=
        before == nullptr || before->device != port.device || before->out != port.out;
    before = &port;
  }
  return std::max(1.0f, lines);
}

void draw_columns(const Ui& ui, Rect room, App& app) {
  Rect left = room.take_left(between(232, room.w * 0.225f, 620));
  room.take_left(kGap);
  Rect right = room.take_right(between(222, room.w * 0.205f, 520));
  room.take_right(kGap);

  app.tour_places = {room, app.tour_places[1], left, right, app.tour_places[4]};
  draw_calls(ui, left.take_top(std::round(left.h * 0.5f) - kGap / 2), app);
  left.take_top(kGap);
  draw_source(ui, left, app);

  if (app.settings.why) {
    draw_why(ui, room, app);
  } else {
    draw_stage(ui, room, app, app.trace());
  }

  // Each panel gets its preferred height, up to a fraction of the column; the inspector
  // gets the rest.
  const OpenTrace& trace = app.trace();
  const auto phases = static_cast<float>(std::max<size_t>(3, trace.mean.phases.size()));
  const float times = between(110, 31 + 16 + 20 + 18 * phases + 30, right.h * 0.45f);
  const float ports = between(84, 31 + 18 + 17 * port_lines(trace), right.h * 0.25f);
  draw_step_times(ui, right.take_top(times), app);
  right.take_top(kGap);
  draw_ports(ui, right.take_top(ports), app);
  right.take_top(kGap);
  draw_inspector(ui, right, app);
}

}  // namespace

void draw_screen(Ui& ui, const Rect& screen, App& app, double progress,
                 const std::string& loading) {
  begin_background(screen, ui.theme);
  ui.list = ImGui::GetWindowDrawList();
  const float pixels = ImGui::GetIO().DisplayFramebufferScale.x;
  sharpen_lines(*ui.list, pixels > 0 ? pixels : 1);

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
    const Rect timeline = room.take_bottom(between(168, room.h * 0.27f, 560));
    room.take_bottom(kGap);
    app.tour_places[4] = timeline;
    if (app.settings.compare && app.traces().size() > 1)
      draw_compare(ui, room, app);
    else
      draw_columns(ui, room, app);
    draw_timeline(ui, timeline, app);
  }
  if (app.settings.tour > 0) draw_tour(ui, screen, app);
  if (app.settings.help) draw_help(ui, screen, app);
  end_background();
}

}  // namespace lockstep::gui

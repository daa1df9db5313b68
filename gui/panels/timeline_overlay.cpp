// Overlays on the lanes (the playhead, the tooltip and the scrollbar), and the overview
// of the whole trace.
#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/model/waiting.h"
#include "gui/panels/panels.h"
#include "gui/panels/stage_parts.h"
#include "gui/panels/timeline_parts.h"
#include "gui/panels/timeline_tracks.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

constexpr size_t kColumns = 400;  ///< in the overview
constexpr size_t kMaxSteps = 80;  ///< if there are more, steps have no lines

std::vector<OverviewColumn> overview_columns(const TimelineFrame& frame) {
  const Model& model = frame.model;
  const Lod& lod = frame.cache.lod;
  std::vector<uint32_t> lanes;  // compute streams or, if none, host lanes
  for (const bool device : {true, false}) {
    for (uint32_t i = 0; i < model.lanes.size() && lanes.size() < 16; ++i) {
      const Lane& lane = model.lanes[i];
      const bool wanted = device ? !lane.is_host() && lane.stream <= 0 : lane.is_host();
      if (wanted && !lane.events.empty()) lanes.push_back(i);
    }
    if (!lanes.empty()) break;
  }
  std::vector<OverviewColumn> columns(kColumns);
  std::vector<std::array<double, 256>> looks(kColumns);
  const double width = static_cast<double>(model.length) / kColumns;
  std::vector<Span> spans;
  for (const uint32_t lane : lanes) {
    spans.clear();
    LodBudget budget;
    lod.spans(model, lane, 0, 0, model.length, static_cast<int64_t>(width / 4), spans,
              budget);
    for (const Span& span : spans) {
      const auto last = static_cast<size_t>(static_cast<double>(span.end) / width);
      for (auto i = static_cast<size_t>(static_cast<double>(span.begin) / width);
           i <= std::min(last, kColumns - 1); ++i) {
        const double left = static_cast<double>(i) * width;
        const double part = std::min(static_cast<double>(span.end), left + width) -
                            std::max(static_cast<double>(span.begin), left);
        const double busy = std::max(0.0, part) * static_cast<double>(span.density());
        looks[i][span.look] += busy;
        columns[i].busy +=
            static_cast<float>(busy / width / static_cast<double>(lanes.size()));
      }
    }
  }
  for (size_t i = 0; i < kColumns; ++i) {
    const auto most = std::max_element(looks[i].begin(), looks[i].end());
    columns[i].look = static_cast<EventClass>(most - looks[i].begin());
  }
  return columns;
}

float overview_x(const TimelineFrame& frame, double ns) {
  const double share = ns / static_cast<double>(frame.model.length);
  return frame.overview.x +
         frame.overview.w * static_cast<float>(std::clamp(share, 0.0, 1.0));
}

}  // namespace

Ui floating(const Ui& ui) {
  Ui over(ui.theme, ui.fonts);
  over.list = ImGui::GetForegroundDrawList();
  return over;
}

void draw_playhead(const TimelineFrame& frame) {
  const float x =
      std::round(frame.scale().at(static_cast<double>(frame.trace.state.now)));
  if (x < frame.plot.x - 1 || x > frame.plot.right() + 1) return;
  const Theme& theme = frame.ui.theme;
  const float top = frame.axis.bottom() - 8;
  frame.ui.fill({x - 1.5f, top, 3, frame.plot.bottom() - top},
                with_alpha(theme.panel, 0.6f));
  frame.ui.fill({x - 0.5f, top, 1.5f, frame.plot.bottom() - top}, theme.text);
  frame.ui.list->AddTriangleFilled({x - 6, top - 2}, {x + 6.5f, top - 2},
                                   {x + 0.25f, top + 7}, theme.text);
  frame.count(3);
}

namespace {

/// Frames the event below the mouse and returns what is said about it.
std::vector<std::string> event_lines(const TimelineFrame& frame, uint32_t index) {
  const Ui& ui = frame.ui;
  const Theme& theme = ui.theme;
  const Event& event = frame.model.events[index];
  const Place place = place_of(frame, index);
  const float x0 = std::max(place.x0, frame.plot.x);
  const float x1 = std::min(std::max(place.x1, x0 + 2), frame.plot.right());
  ui.frame({x0, place.y, x1 - x0, place.height}, with_alpha(theme.text, 0.6f), 3);

  const Lane& lane = frame.model.lanes[event.lane];
  const Origin origin = origin_of(frame);
  std::vector<std::string> lines;
  lines.push_back(frame.model.name_of(event));
  const std::string takes = time_of_event(frame.model, event);
  if (event.is_task() && !frame.model.has_device_times()) {
    lines.push_back("null device: no times");
  } else {
    lines.push_back(fmt::format("{}at {} of {}", takes.empty() ? "" : takes + " · ",
                                exact_time(event.ts - origin.ns), origin.name));
  }
  lines.push_back(
      lane.is_host()
          ? fmt::format("host, {}", lane.thread)
          : fmt::format("{}, {}", device_label(frame.model, lane.device), lane.thread));
  const std::string module = string_arg(args_of(frame.model, event), keys::module);
  if (!module.empty()) lines.push_back(module);
  if (const Copy* copy = frame.model.copy_of(index)) {
    lines.push_back(fmt::format("{} · {} → {}", human_bytes(copy->bytes),
                                device_label(frame.model, copy->src),
                                device_label(frame.model, copy->dst)));
  }
  lines.push_back("click to go there");
  return lines;
}

/// Draws lines beside the mouse, the first one strong and the last one faint.
void draw_tip(const TimelineFrame& frame, const std::vector<std::string>& lines) {
  const Ui& ui = frame.ui;
  const Theme& theme = ui.theme;
  float wide = 0;
  for (const std::string& line : lines)
    wide = std::max(wide, ui.width(Type::small, line));
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  Rect box{frame.mouse.x + 14, frame.mouse.y + 18, std::min(wide + 24, 420.0f),
           static_cast<float>(lines.size()) * 17 + 13};
  if (box.right() > screen.x - 4) box.x = std::max(4.0f, frame.mouse.x - 10 - box.w);
  if (box.bottom() > screen.y - 4) box.y = std::max(4.0f, frame.mouse.y - 10 - box.h);
  const Ui over = floating(ui);
  over.fill({box.x, box.y + 2, box.w, box.h}, theme.shadow, 7);
  over.fill(box, theme.raised, 7);
  over.frame(box, theme.line, 7);
  float y = box.y + 6;
  for (size_t i = 0; i < lines.size(); ++i, y += 17) {
    const ImU32 colour = i == 0                  ? theme.text
                         : i + 1 == lines.size() ? theme.faint
                                                 : theme.dim;
    over.text_cut(box.x + 12, y, box.w - 20, Type::small, colour, lines[i]);
  }
  frame.count(4 + lines.size());
}

/// Returns what a stream waits for at a point where it runs nothing; "" if it is idle.
std::string wait_below(const TimelineFrame& frame, ImVec2 point) {
  uint32_t depth = 0;
  const Strip* strip = strip_at(frame, point, depth);
  if (strip == nullptr || strip->role != Strip::Role::stream) return "";
  const auto at = static_cast<int64_t>(frame.scale().ns(point.x));
  const Waiting waiting = waiting_on(frame.model, frame.model.lanes[strip->lane], at);
  if (waiting.cause == Waiting::For::nothing) return "";
  return waiting_words(frame.model, waiting);
}

}  // namespace

void draw_hover(const TimelineFrame& frame) {
  if (!frame.hovered || frame.view.gesture.drag != TimelineView::Drag::none) return;
  if (!frame.plot.contains(frame.mouse)) return;
  if (const Strip* track = track_at(frame, frame.mouse)) {
    return draw_tip(frame, track_lines(frame, *track, frame.mouse.x));
  }
  const uint32_t index = event_below(frame, frame.mouse);
  if (index != kNoEvent) return draw_tip(frame, event_lines(frame, index));
  const std::string gap = gap_below(frame, frame.mouse);
  if (!gap.empty())
    return draw_tip(frame, {gap, "what the sliders' program waits for"});
  const std::string wait = wait_below(frame, frame.mouse);
  if (!wait.empty()) draw_tip(frame, {wait, "the stripes show the wait"});
}

void draw_overview(const TimelineFrame& frame) {
  if (frame.overview.h < 8) return;
  if (frame.cache.columns.empty()) frame.cache.columns = overview_columns(frame);
  const Ui& ui = frame.ui;
  const Theme& theme = ui.theme;
  const Rect& area = frame.overview;
  ui.fill(area, theme.sunken, 4);
  const float wide = area.w / kColumns;
  const float room = area.h - 4;
  for (size_t i = 0; i < kColumns; ++i) {
    const OverviewColumn& column = frame.cache.columns[i];
    const float high = std::round(std::min(1.0f, column.busy) * room * 2) / 2;
    if (high < 0.5f) continue;
    const float x0 = std::round(area.x + static_cast<float>(i) * wide);
    const float x1 = std::round(area.x + static_cast<float>(i + 1) * wide);
    ui.fill({x0, area.bottom() - 2 - high, x1 - x0, high},
            mixed(theme.sunken, frame.colours[column.look], 0.8f));
    frame.count(1);
  }
  const auto& steps = frame.model.steps;
  for (size_t i = 1; steps.size() <= kMaxSteps && i < steps.size(); ++i) {
    const float x = std::round(overview_x(frame, static_cast<double>(steps[i].begin)));
    ui.fill({x, area.y, 1, area.h}, with_alpha(theme.faint, 0.7f));
    frame.count(1);
  }
  const float x0 = overview_x(frame, frame.view.from);
  const float x1 = std::max(overview_x(frame, frame.view.to), x0 + 3);
  const ImU32 veil = with_alpha(theme.panel, 0.62f);
  ui.fill({area.x, area.y, x0 - area.x, area.h}, veil);
  ui.fill({x1, area.y, area.right() - x1, area.h}, veil);
  ui.frame({x0, area.y, x1 - x0, area.h}, with_alpha(theme.dim, 0.9f), 3);
  const float now =
      std::round(overview_x(frame, static_cast<double>(frame.trace.state.now)));
  ui.fill({now - 0.5f, area.y, 1.5f, area.h}, theme.text);
  const std::string name =
      steps[0].event == kNoEvent
          ? "whole trace"
          : fmt::format("{} step{}", steps.size(), steps.size() > 1 ? "s" : "");
  ui.text(frame.labels.x, area.y + (area.h - ui.line_height(Type::small)) / 2,
          Type::small, theme.faint, name);
  frame.count(6);
}

void draw_scrollbar(const TimelineFrame& frame) {
  const float content = frame.cache.layout.height;
  if (content <= frame.plot.h + 0.5f) return;
  const float grip = std::max(20.0f, frame.plot.h * frame.plot.h / content);
  const float share = std::min(1.0f, frame.view.scroll / (content - frame.room));
  frame.ui.fill(
      {frame.plot.right() + 4, frame.plot.y + (frame.plot.h - grip) * share, 4, grip},
      with_alpha(frame.ui.theme.dim, frame.hovered ? 0.6f : 0.35f), 2);
  frame.count(1);
}

}  // namespace lockstep::gui

// Input: wheel, clicks, drags and keys. Also makes the view follow the position.
#include <cmath>
#include <utility>

#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"
#include "gui/panels/timeline_tracks.h"
#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

namespace {

using Drag = TimelineView::Drag;

constexpr double kPointsPerNs = 20;  ///< maximum zoom
constexpr double kMargin = 0.03;     ///< fraction of a step, on either side
constexpr float kClickDistance = 4;  ///< maximum mouse movement in a click, in points
constexpr double kZoomPerNotch = 0.8, kZoomPerKey = 0.7, kPanPerKey = 0.2;

/// Returns the minimum and maximum duration of a view, in ns.
std::pair<double, double> limits_of(const Model& model, float width) {
  const double shortest = static_cast<double>(width) / kPointsPerNs;
  const double whole = static_cast<double>(model.length) * (1 + 2 * kMargin);
  return {shortest, std::max(whole, shortest)};
}

void pan(TimelineView& view, double ns) {
  view.from += ns;
  view.to += ns;
}

void toggle(TimelineView& view, uint32_t group) {
  const auto at = std::lower_bound(view.open.begin(), view.open.end(), group);
  if (at != view.open.end() && *at == group)
    view.open.erase(at);
  else
    view.open.insert(at, group);
}

void scrub(TimelineFrame& frame) {
  const double ns = std::round(frame.scale().ns(frame.mouse.x));
  const auto time = static_cast<int64_t>(
      std::clamp(ns, 0.0, static_cast<double>(frame.model.length)));
  frame.app.settings.transport.playing = false;
  frame.app.go(Position{Order::time, time, 0, 0.5f, frame.trace.state.rank});
}

float playhead_x(const TimelineFrame& frame) {
  return frame.scale().at(static_cast<double>(frame.trace.state.now));
}

Drag drag_kind(const TimelineFrame& frame, int button) {
  const ImVec2 mouse = frame.mouse;
  if (frame.overview.contains(mouse)) return Drag::overview;
  const bool over_time = mouse.x >= frame.plot.x && mouse.x < frame.plot.right();
  if (button != 0) return over_time ? Drag::pan : Drag::none;
  if (mouse.x >= frame.plot.right() && mouse.y >= frame.plot.y) return Drag::scrollbar;
  if (!over_time) return Drag::none;
  if (modifiers().shift) return Drag::select;
  if (frame.axis.contains(mouse)) return Drag::scrub;
  if (!frame.plot.contains(mouse)) return Drag::none;
  const bool on_playhead = std::abs(mouse.x - playhead_x(frame)) <= 3;
  return on_playhead ? Drag::scrub : Drag::pan;
}

void begin_drag(TimelineFrame& frame, int button) {
  TimelineView& view = frame.view;
  view.gesture = {drag_kind(frame, button),
                  false,
                  frame.mouse.x,
                  frame.mouse.y,
                  view.from,
                  view.to,
                  view.scroll};
  const bool at_once = frame.axis.contains(frame.mouse);
  if (view.gesture.drag == Drag::scrub && at_once) scrub(frame);
}

void drag_overview(TimelineFrame& frame) {
  const auto& gesture = frame.view.gesture;
  const double per_point =
      static_cast<double>(frame.model.length) / static_cast<double>(frame.overview.w);
  const double length = gesture.to - gesture.from;
  const double pressed = static_cast<double>(gesture.x - frame.overview.x) * per_point;
  // A press outside the view's range first centres the view on the mouse.
  const bool inside = pressed >= gesture.from && pressed <= gesture.to;
  const double start = inside ? gesture.from : pressed - length / 2;
  frame.view.from = start + static_cast<double>(frame.mouse.x - gesture.x) * per_point;
  frame.view.to = frame.view.from + length;
}

void drag(TimelineFrame& frame) {
  TimelineView& view = frame.view;
  auto& gesture = view.gesture;
  const float dx = frame.mouse.x - gesture.x, dy = frame.mouse.y - gesture.y;
  if (std::abs(dx) > kClickDistance || std::abs(dy) > kClickDistance)
    gesture.moved = true;
  if (gesture.drag == Drag::overview) drag_overview(frame);
  if (!gesture.moved) return;
  switch (gesture.drag) {
    case Drag::pan: {
      const double ns = static_cast<double>(-dx) * frame.scale().per_point();
      view.to = gesture.to + ns;
      view.from = gesture.from + ns;
      view.scroll = gesture.scroll - dy;
      break;
    }
    case Drag::scrub:
      scrub(frame);
      break;
    case Drag::select: {
      const Scale scale = frame.scale();
      const double limit = static_cast<double>(frame.model.length);
      const auto a = static_cast<int64_t>(std::clamp(scale.ns(gesture.x), 0.0, limit));
      const auto b =
          static_cast<int64_t>(std::clamp(scale.ns(frame.mouse.x), 0.0, limit));
      view.selected = std::minmax(a, b);
      break;
    }
    case Drag::scrollbar:
      view.scroll = gesture.scroll + dy * frame.cache.layout.height / frame.plot.h;
      break;
    default:
      break;
  }
}

void click(TimelineFrame& frame) {
  uint32_t depth = 0;
  if (frame.toggle.contains(frame.mouse)) {
    frame.app.settings.tracks = !frame.app.settings.tracks;
  } else if (frame.view.gesture.drag == Drag::select) {
    frame.view.selected = {0, 0};
  } else if (frame.plot.contains(frame.mouse)) {
    const Strip* track = track_at(frame, frame.mouse);
    const uint32_t event = track == nullptr ? event_below(frame, frame.mouse)
                                            : op_at_track(frame, *track, frame.mouse.x);
    if (event != kNoEvent)
      frame.app.go(at_event(frame.model, event));
    else
      frame.view.selected = {0, 0};
  } else if (frame.labels.contains(frame.mouse)) {
    const Strip* strip = strip_at(frame, frame.mouse, depth);
    if (strip == nullptr || strip->role == Strip::Role::track) return;
    if ((strip->group & kWholeRank) != 0 && strip->group < kThreadsOfRank)
      frame.app.focus_rank(frame.model.lanes[strip->lane].rank);
    else
      toggle(frame.view, strip->group);
  }
}

void wheel(TimelineFrame& frame) {
  const ImGuiIO& io = ImGui::GetIO();
  TimelineView& view = frame.view;
  const bool at_labels = frame.mouse.x < frame.plot.x;
  if (io.MouseWheelH != 0) {
    pan(view, static_cast<double>(-io.MouseWheelH) * 60 * frame.scale().per_point());
  }
  if (io.MouseWheel == 0) return;
  if (at_labels || io.KeyShift) {
    view.scroll -= io.MouseWheel * 40;
  } else {
    zoom(frame.model, view, frame.plot.w, frame.scale().ns(frame.mouse.x),
         std::pow(kZoomPerNotch, static_cast<double>(io.MouseWheel)));
  }
}

void set_cursor(const TimelineFrame& frame) {
  if (!frame.hovered) return;
  uint32_t depth = 0;
  const bool on_event =
      frame.plot.contains(frame.mouse) && event_below(frame, frame.mouse) != kNoEvent;
  const Strip* strip = frame.labels.contains(frame.mouse)
                           ? strip_at(frame, frame.mouse, depth)
                           : nullptr;
  if (frame.view.gesture.drag == Drag::scrub ||
      (frame.plot.contains(frame.mouse) &&
       std::abs(frame.mouse.x - playhead_x(frame)) <= 3)) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  } else if (on_event || frame.toggle.contains(frame.mouse) ||
             (strip != nullptr && strip->depth > strip->rows)) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  }
}

}  // namespace

void zoom(const Model& model, TimelineView& view, float width, double around,
          double factor) {
  const auto [shortest, longest] = limits_of(model, width);
  const double length = view.to - view.from;
  factor = std::clamp(factor, shortest / length, longest / length);
  view.from = around - (around - view.from) * factor;
  view.to = around + (view.to - around) * factor;
}

void show_step(const Model& model, size_t number, TimelineView& view) {
  const Step& step = model.steps[number];
  const double length =
      static_cast<double>(std::max<int64_t>(1, step.end - step.begin));
  view.from = static_cast<double>(step.begin) - kMargin * length;
  view.to = static_cast<double>(step.end) + kMargin * length;
}

void clamp_view(const Model& model, TimelineView& view, float width) {
  const auto length = static_cast<double>(model.length);
  const auto [shortest, longest] = limits_of(model, width);
  const bool sensible = std::isfinite(view.to - view.from) && view.from < view.to;
  if (!sensible) view.from = 0, view.to = length;
  const double middle = (view.from + view.to) / 2;
  const double wanted = std::clamp(view.to - view.from, shortest, longest);
  if (wanted != view.to - view.from) {
    view.from = middle - wanted / 2;
    view.to = middle + wanted / 2;
  }
  // A zoomed-in view may extend past the ends by half its width; a view of the whole
  // trace stays in place.
  const double beyond = std::min(wanted / 2, longest - wanted + kMargin * length);
  const double first = -beyond, last = length + beyond - wanted;
  const double held =
      std::clamp(view.from, std::min(first, last), std::max(first, last));
  pan(view, held - view.from);
}

/// Shows the whole of another step, and returns true, if the last one was shown whole.
bool follow_to_step(const Model& model, size_t number, TimelineView& view) {
  const size_t before = std::exchange(view.seen_step, number);
  if (before == number || before >= model.steps.size()) return false;
  const Step& last = model.steps[before];
  const auto length = static_cast<double>(last.end - last.begin);
  const double shown = (view.to - view.from) / length;
  if (shown < 0.8 || shown > 1.5) return false;
  show_step(model, number, view);
  return true;
}

/// Keeps a moment away from the edges; one that is out of sight moves to the middle.
void pan_to(int64_t time, TimelineView& view) {
  const double length = view.to - view.from;
  const double share = (static_cast<double>(time) - view.from) / length;
  if (share < 0 || share > 1)
    pan(view, (share - 0.5) * length);
  else if (share < 0.1)
    pan(view, (share - 0.1) * length);
  else if (share > 0.9)
    pan(view, (share - 0.9) * length);
}

void follow_position(const TimelineFrame& frame) {
  TimelineView& view = frame.view;
  const State& state = frame.trace.state;
  const bool moved = view.seen_time != state.now || view.seen_event != state.event;
  const bool first = view.seen_time == INT64_MIN;
  const bool jumped = view.seen_event != state.event;
  view.seen_time = state.now;
  view.seen_event = state.event;
  if (first) view.seen_step = state.step;
  if (!moved || first || !view.follow || view.gesture.drag != Drag::none) return;
  if (!follow_to_step(frame.model, state.step, view)) pan_to(state.now, view);
  if (!jumped) return;
  const Place place = place_of(frame, state.event);
  if (!place.shown) return;
  const float above = frame.plot.y - place.y;
  const float below = place.y + place.height - frame.plot.bottom();
  if (above > 0)
    view.scroll -= above + 6;
  else if (below > 0)
    view.scroll += below + 6;
}

void handle_mouse(TimelineFrame& frame) {
  TimelineView& view = frame.view;
  const ImGuiIO& io = ImGui::GetIO();
  for (int button = 0; button < 3; ++button) {
    const bool idle = view.gesture.drag == Drag::none;
    if (idle && frame.hovered && ImGui::IsMouseClicked(button)) {
      begin_drag(frame, button);
      if (view.gesture.drag == Drag::none && button == 0) click(frame);
    }
  }
  const bool held = io.MouseDown[0] || io.MouseDown[1] || io.MouseDown[2];
  if (view.gesture.drag != Drag::none) {
    drag(frame);
    if (!held) {
      const bool left = ImGui::IsMouseReleased(0);
      if (!view.gesture.moved && left) click(frame);
      if (view.gesture.moved && view.gesture.drag == Drag::select) {
        frame.app.settings.drawer = Drawer::range;
      }
      view.gesture.drag = Drag::none;
    }
  } else if (frame.hovered) {
    wheel(frame);
  }
  set_cursor(frame);
}

void timeline_keys(App& app) {
  if (!app.has_trace() || app.settings.searching) return;
  OpenTrace& trace = app.trace();
  TimelineView& view = trace.timeline;
  if (view.from >= view.to || view.cache == nullptr) return;  // not drawn yet
  const double length = view.to - view.from;
  const auto now = static_cast<double>(trace.state.now);
  const bool in_sight = now >= view.from && now <= view.to;
  const double around = in_sight ? now : view.from + length / 2;
  const auto by = [&](double factor) {
    zoom(*trace.model, view, view.cache->plot.w, around, factor);
  };
  if (key_pressed(key_of('w'), true)) by(kZoomPerKey);
  if (key_pressed(key_of('s'), true)) by(1 / kZoomPerKey);
  if (key_pressed(key_of('['), true)) pan(view, -kPanPerKey * length);
  if (key_pressed(key_of(']'), true)) pan(view, kPanPerKey * length);
  if (key_pressed(key_of('u'))) app.settings.tracks = !app.settings.tracks;
  if (key_pressed(key_of('f'))) view.follow = !view.follow;
}

}  // namespace lockstep::gui

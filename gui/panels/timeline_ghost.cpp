// The recorded step beneath the emulated one.
#include <fmt/format.h>

#include "base/units.h"
#include "gui/app/what_if.h"
#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

namespace {

constexpr float kStrip = 3;  ///< points: height of the ghost in a row

ImU32 ghost_ink(const Theme& theme) { return with_alpha(theme.text, 0.55f); }

/// Draws where the recorded step ends; its words also name the strips.
void draw_recorded_end(const TimelineFrame& frame, double end, int64_t length) {
  const Scale scale = frame.scale();
  const float x = scale.at(end);
  const Theme& theme = frame.ui.theme;
  const std::string words = fmt::format(
      "{}: {}", own_times(frame.app.what_if->room.provenance), human_time(length));
  constexpr float kSwatch = 16;  // of the strips below the rows
  const float wide = kSwatch + frame.ui.width(Type::small, words);
  const bool beyond = x > frame.plot.right();
  if (x < frame.plot.x) return;
  for (float y = frame.plot.y; y < frame.plot.bottom() && !beyond; y += 7) {
    frame.ui.fill({x, y, 1, 4}, theme.text);
  }
  const float at = std::min(x + 5, frame.plot.right() - wide - 8);
  const float y = frame.plot.bottom() - 17;
  frame.ui.fill({at - 4, y - 1, wide + 8, 17}, theme.raised, 4);
  frame.ui.fill({at, y + 7, kSwatch - 4, kStrip}, ghost_ink(theme));
  frame.ui.text(at + kSwatch, y, Type::small, theme.text,
                beyond ? words + " →" : words);
}

}  // namespace

std::string gap_below(const TimelineFrame& frame, ImVec2 point) {
  if (!shows_emulated(frame.app)) return "";
  uint32_t depth = 0;
  const Strip* strip = strip_at(frame, point, depth);
  if (strip == nullptr || strip->role == Strip::Role::track) return "";
  const auto at = static_cast<int64_t>(frame.scale().ns(point.x));
  const Gap* gap = gap_at(frame.model, frame.app.what_if->gaps, strip->lane, at);
  return gap == nullptr ? "" : gap_words(frame.model, *gap);
}

void draw_ghost(const TimelineFrame& frame) {
  if (!shows_emulated(frame.app)) return;
  const Ghost& ghost = frame.app.what_if->ghost;
  const Step& step = frame.model.steps[frame.trace.state.step];
  const auto begin = static_cast<double>(step.begin);
  const Scale scale = frame.scale();
  const ImU32 ink = ghost_ink(frame.ui.theme);
  frame.ui.list->PushClipRect(frame.plot.min(), frame.plot.max(), true);
  const LaneLayout& layout = frame.cache.layout;
  const auto [first, last] = layout.between(frame.top, frame.top + frame.plot.h);
  for (size_t i = first; i < last; ++i) {
    const Strip& strip = layout.strips[i];
    if (strip.role == Strip::Role::head || strip.role == Strip::Role::track) continue;
    if (strip.lane >= ghost.lanes.size()) continue;
    const float y = frame.top_of(strip) + strip.row_height - kStrip;
    for (const auto& [from, to] : ghost.lanes[strip.lane]) {
      const float x0 = scale.at(begin + static_cast<double>(from));
      const float x1 = scale.at(begin + static_cast<double>(to));
      if (x1 < frame.plot.x || x0 > frame.plot.right()) continue;
      frame.ui.fill({x0, y, std::max(1.0f, x1 - x0), kStrip}, ink);
      frame.count(1);
    }
  }
  frame.ui.list->PopClipRect();
  draw_recorded_end(frame, begin + static_cast<double>(ghost.length), ghost.length);
}

}  // namespace lockstep::gui

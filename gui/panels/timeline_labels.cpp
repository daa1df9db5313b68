// The column on the left: lane names and per-rank headings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gui/model/servers.h"
#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"
#include "gui/panels/timeline_tracks.h"
#include "gui/panels/widgets.h"

namespace lockstep::gui {

namespace {

using Role = Strip::Role;

constexpr float kSmallLabel =
    6;  ///< minimum height of a labelled side stream, in points

std::string stream_name(const Lane& lane) {
  constexpr const char* kStreams[] = {"compute", "copy", "comm"};
  if (lane.stream >= 0 && lane.stream < 3) return kStreams[lane.stream];
  return lane.thread.empty() ? fmt::format("stream {}", lane.tid) : lane.thread;
}

std::string of_rank(const TimelineFrame& frame, const Lane& lane, std::string name) {
  return frame.cache.ranks > 1 ? rank_title(frame.model, lane.rank) + " " + name : name;
}

/// Draws a small triangle that indicates whether a lane is expanded.
void chevron(const TimelineFrame& frame, float x, float y, bool open) {
  const ImU32 colour = frame.ui.theme.faint;
  ImDrawList* list = frame.ui.list;
  if (open)
    list->AddTriangleFilled({x, y - 2}, {x + 7, y - 2}, {x + 3.5f, y + 3}, colour);
  else
    list->AddTriangleFilled({x + 1, y - 3.5f}, {x + 1, y + 3.5f}, {x + 6, y}, colour);
}

void draw_label(const TimelineFrame& frame, const Strip& strip, float y) {
  const Ui& ui = frame.ui;
  const Theme& theme = ui.theme;
  const Lane& lane = frame.model.lanes[strip.lane];
  const float middle = y + strip.row_height / 2;
  const float line = middle - ui.line_height(Type::small) / 2;
  const float left = frame.labels.x;
  const float right = frame.labels.right() - 10;
  const auto head = [&](const std::string& name, bool more, bool open, ImU32 colour,
                        float indent = 0) {
    const float wide = ui.text_cut(left + indent, line, right - left - indent - 12,
                                   Type::small, colour, name);
    if (more || open) chevron(frame, left + indent + wide + 6, middle + 0.5f, open);
    return left + indent + wide + (more || open ? 20 : 10);
  };
  // At the right, as much as fits after `from`.
  const auto beside = [&](float from, const std::string& name) {
    const float wide = std::min(ui.width(Type::small, name), right - from);
    if (wide < 12) return;
    ui.text_cut(right - wide, line, wide + 1, Type::small, theme.faint, name);
  };
  const bool more = strip.depth > strip.rows;
  frame.count(2);
  switch (strip.role) {
    case Role::track:
      draw_track_label(frame, strip, y);
      return;
    case Role::host:
      head(of_rank(frame, lane, "host"), more, strip.is_open, theme.text);
      return;
    case Role::mini:
    case Role::head: {
      if (strip.members == 0) return;
      const bool open = strip.role == Role::head;
      const std::string name =
          strip.members == 1 ? "1 thread" : fmt::format("{} threads", strip.members);
      const float down = open ? 0 : 5 - strip.row_height / 2;
      const float wide =
          ui.text_cut(left, line + down, right - left, Type::small, theme.dim, name);
      chevron(frame, left + wide + 6, middle + down + 0.5f, open);
      return;
    }
    case Role::thread:
      head(lane.thread.empty() ? fmt::format("thread {}", lane.tid) : lane.thread, more,
           strip.is_open, theme.dim, 10);
      return;
    case Role::stream: {
      if (strip.members == 0) {
        if (strip.row_height < kSmallLabel) return;
        beside(left, stream_name(lane));
        return;
      }
      if (strip.folded) {
        head(rank_title(frame.model, lane.rank), true, false, theme.dim);
        return;
      }
      const float after =
          head(device_label(frame.model, lane.device), more && lane.rows > strip.rows,
               strip.is_open, theme.text);
      if (lane.stream != 0) beside(after, stream_name(lane));
      return;
    }
  }
}

}  // namespace

void draw_labels(const TimelineFrame& frame) {
  const Rect room{frame.labels.x - 10, frame.labels.y, frame.labels.w + 10,
                  frame.labels.h};
  frame.ui.list->PushClipRect(room.min(), room.max(), true);
  const auto [first, last] =
      frame.cache.layout.between(frame.top, frame.top + frame.plot.h);
  float names_until =
      room.y;  // names of streams that have no head: one below the other
  for (size_t i = first; i < last; ++i) {
    const Strip& strip = frame.cache.layout.strips[i];
    const float y = frame.top_of(strip);
    const float text = y + strip.row_height / 2;  // a label is whole or left out
    const float half = frame.ui.line_height(Type::small) / 2 - 2;
    if (text - half < room.y || text + half > room.bottom()) continue;
    const bool named = strip.role == Role::stream && strip.members == 0;
    if (named && text - half < names_until) continue;
    if (named) names_until = text + half;
    draw_label(frame, strip, y);
  }
  frame.ui.list->PopClipRect();
}

const Strip* strip_at(const TimelineFrame& frame, ImVec2 point, uint32_t& depth) {
  const float y = point.y - frame.plot.y + frame.top;
  const LaneLayout& layout = frame.cache.layout;
  const auto [first, last] = layout.between(y, y + 0.1f);
  if (first >= last) return nullptr;
  const Strip& strip = layout.strips[first];
  if (y < strip.y || y >= strip.y + strip.height()) return nullptr;
  depth = static_cast<uint32_t>((y - strip.y) / strip.pitch);
  return &strip;
}

uint32_t event_below(const TimelineFrame& frame, ImVec2 point) {
  uint32_t depth = 0;
  const Strip* strip = strip_at(frame, point, depth);
  if (strip == nullptr || strip->role == Role::head || strip->role == Role::track) {
    return kNoEvent;
  }
  const Scale scale = frame.scale();
  const auto reach = static_cast<int64_t>(std::ceil(3 * scale.per_point()));
  return frame.cache.lod.event_at(frame.model, strip->lane, depth,
                                  static_cast<int64_t>(std::floor(scale.ns(point.x))),
                                  reach);
}

Place place_of(const TimelineFrame& frame, uint32_t index) {
  const Event& event = frame.model.events[index];
  const Scale scale = frame.scale();
  Place place;
  place.x0 = scale.at(static_cast<double>(event.ts));
  place.x1 = scale.at(static_cast<double>(event.end()));
  const uint32_t number = frame.cache.layout.strip_of_lane[event.lane];
  if (number == UINT32_MAX) return place;
  const Strip& strip = frame.cache.layout.strips[number];
  const auto row = static_cast<uint32_t>(event.row);
  place.shown = true;
  place.exact = row < strip.rows;
  const uint32_t depth = std::min<uint32_t>(row, strip.rows - 1u);
  place.y = frame.top_of(strip) + static_cast<float>(depth) * strip.pitch;
  place.height = strip.row_height;
  return place;
}

}  // namespace lockstep::gui

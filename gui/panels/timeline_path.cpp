// The longest path of the step, as one thread through the timeline.
#include <algorithm>

#include "gui/model/why.h"
#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

namespace {

/// A section of the thread on the screen.
struct Section {
  float x0, x1, y;
};

/// Along the lower edge of the bars, whose names stay readable.
float thread_y(const Place& place) { return place.y + place.height - 3; }

void draw_section(const TimelineFrame& frame, const Section& section, ImU32 colour,
                  float width) {
  const float x0 = std::max(section.x0, frame.plot.x - 4);
  const float x1 = std::min(section.x1, frame.plot.right() + 4);
  frame.ui.fill({x0, section.y - width / 2, std::max(x1 - x0, 1.5f), width}, colour,
                width / 2);
}

/// Returns what can be seen of the path, at most one section per point.
std::vector<Section> sections(const TimelineFrame& frame,
                              const std::vector<PathSegment>& path) {
  const Scale scale = frame.scale();
  const double shortest = scale.per_point() * 0.75;
  std::vector<Section> visible;
  double from = frame.view.from;
  for (auto segment = path.begin(); segment != path.end();) {
    segment = std::lower_bound(segment, path.end(), from,
                               [](const PathSegment& s, double ns) {
                                 return static_cast<double>(s.end) < ns;
                               });
    if (segment == path.end() || static_cast<double>(segment->begin) > frame.view.to) {
      break;
    }
    const Place place = place_of(frame, segment->event);
    if (place.shown) {
      visible.push_back({scale.at(static_cast<double>(segment->begin)),
                         scale.at(static_cast<double>(segment->end)), thread_y(place)});
    }
    from = std::max(from, static_cast<double>(segment->end)) + shortest;
    ++segment;
  }
  return visible;
}

}  // namespace

void draw_path(const TimelineFrame& frame) {
  const OpenTrace& trace = frame.trace;
  if (!frame.app.settings.why || trace.why == nullptr) return;
  const auto& path = trace.why->paths[trace.state.step];
  if (path.empty()) return;
  const Theme& t = frame.ui.theme;
  const std::vector<Section> visible = sections(frame, path);
  frame.ui.list->PushClipRect(frame.plot.min(), frame.plot.max(), true);
  for (const auto& [colour, width] :
       {std::pair{with_alpha(t.panel, 0.9f), 6.0f}, std::pair{t.text, 2.6f}}) {
    for (size_t i = 0; i < visible.size(); ++i) {
      draw_section(frame, visible[i], colour, width);
      if (i == 0) continue;
      const Section& before = visible[i - 1];
      frame.ui.list->AddLine({before.x1, before.y}, {visible[i].x0, visible[i].y},
                             colour, width * 0.6f);
    }
  }
  const PathSegment& own = path[current_segment(trace)];
  const Place place = place_of(frame, own.event);
  const Scale scale = frame.scale();
  if (place.shown) {
    draw_section(frame,
                 {scale.at(static_cast<double>(own.begin)),
                  scale.at(static_cast<double>(own.end)), thread_y(place)},
                 t.accent, 4);
  }
  frame.ui.list->PopClipRect();
  frame.count(2 * visible.size() + 1);
}

}  // namespace lockstep::gui

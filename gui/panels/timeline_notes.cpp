// Bookmarks on the timeline: a flag on the axis, a line through the lanes, and the
// words while the mouse is over the flag.
#include <cmath>

#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"

namespace lockstep::gui {

namespace {

constexpr float kFlag = 9;

void draw_flag(const TimelineFrame& frame, float x, bool here) {
  const Theme& t = frame.ui.theme;
  const float top = frame.axis.y + 2;
  const ImU32 ink = here ? t.accent : t.arrow;
  frame.ui.fill({x, top, 1.5f, frame.plot.bottom() - top}, with_alpha(ink, 0.55f));
  frame.ui.list->AddTriangleFilled({x, top}, {x + kFlag, top + kFlag / 2},
                                   {x, top + kFlag}, ink);
  frame.count(2);
}

void draw_words(const TimelineFrame& frame, float x, const std::string& words) {
  const Ui over = floating(frame.ui);
  const Theme& t = over.theme;
  const float wide = std::min(420.0f, over.width(Type::small, words) + 20);
  const float left = std::clamp(x, frame.plot.x, frame.plot.right() - wide);
  const Rect box{left, frame.axis.y - 26, wide, 24};
  over.fill(box, t.raised, 6);
  over.frame(box, t.line, 6);
  over.text_cut(box.x + 10, box.y + 5, box.w - 18, Type::small, t.text, words);
  frame.count(3);
}

}  // namespace

void draw_notes(const TimelineFrame& frame) {
  const Scale scale = frame.scale();
  for (const Note& note : frame.trace.notes.placed) {
    const float x =
        std::round(scale.at(static_cast<double>(time_of(frame.model, note.at))));
    if (x < frame.plot.x - 1 || x > frame.plot.right()) continue;
    draw_flag(frame, x, same_place(frame.model, note.at, frame.trace.position));
    const Rect flag{x - 3, frame.axis.y, kFlag + 6, kFlag + 6};
    if (!frame.hovered || !flag.contains(frame.mouse)) continue;
    const std::string place = place_words(frame.model, note.at);
    draw_words(frame, x, note.text.empty() ? place : note.text + "  (" + place + ")");
  }
}

}  // namespace lockstep::gui

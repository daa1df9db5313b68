// What part of a trace the timeline shows. Plain data, so that a picture is a function
// of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep::gui {

struct TimelineCache;

struct TimelineView {
  double from = 0, to = 0;  ///< ns at the left and right edge; equal: not chosen yet
  float scroll = 0;         ///< points scrolled down
  bool follow = true;       ///< keep the position in sight
  std::pair<int64_t, int64_t> selected{0, 0};  ///< a range of time; empty when equal
  std::vector<uint32_t> open;  ///< groups of lanes shown in full depth, sorted

  /// What the mouse does until its button goes up.
  enum class Drag : uint8_t { none, pan, scrub, select, overview, scrollbar };
  struct Gesture {
    Drag drag = Drag::none;
    bool moved = false;       ///< far enough to be no click
    float x = 0, y = 0;       ///< where the button went down
    double from = 0, to = 0;  ///< the view at that moment
    float scroll = 0;
  } gesture;

  /// The position that the view last followed.
  int64_t seen_time = INT64_MIN;
  uint32_t seen_event = UINT32_MAX;

  size_t primitives = 0;  ///< rectangles, texts and lines in the last picture
  std::shared_ptr<TimelineCache> cache;  ///< computed from the Model alone
};

}  // namespace lockstep::gui

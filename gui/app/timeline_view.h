// The part of a trace that the timeline shows. Plain data: a frame is a function of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lockstep::gui {

struct TimelineCache;

struct TimelineView {
  double from = 0, to = 0;  ///< ns at the left and right edge; equal: not set yet
  float scroll = 0;         ///< points scrolled down
  bool follow = true;       ///< keep the position in sight
  std::pair<int64_t, int64_t> selected{0,
                                       0};  ///< a selected time range; empty if equal
  std::vector<uint32_t> open;  ///< sorted groups of lanes shown in full depth

  /// The mouse gesture until its button is released.
  enum class Drag : uint8_t { none, pan, scrub, select, overview, scrollbar };
  struct Gesture {
    Drag drag = Drag::none;
    bool moved = false;       ///< too far for a click
    float x = 0, y = 0;       ///< where the button went down
    double from = 0, to = 0;  ///< the view at that moment
    float scroll = 0;
  } gesture;

  /// The position that the view followed last.
  int64_t seen_time = INT64_MIN;
  uint32_t seen_event = UINT32_MAX;

  size_t primitives = 0;  ///< rectangles, texts and lines in the last frame
  std::shared_ptr<TimelineCache> cache;  ///< computed from the Model alone
};

}  // namespace lockstep::gui

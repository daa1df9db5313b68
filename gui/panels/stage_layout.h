// The layout of host and devices on the stage, and the paths between them.
#pragma once

#include <array>
#include <vector>

#include "gui/model/model.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// The largest number of cards; further devices share the last.
inline constexpr size_t kMaxCards = 16;

struct StageLayout {
  Rect host;
  std::vector<Rect> cards;  ///< one per device; devices after the 15th share one
  bool compact = false;     ///< small cards: only the essentials
  bool two_rows = false;
  Rect below;  ///< room for arcs between devices

  /// Returns the card of a device.
  size_t card_of(int device) const {
    return std::min(static_cast<size_t>(device), cards.size() - 1);
  }
};

StageLayout lay_out(const Rect& room, size_t devices);

/// A cubic Bézier curve from one memory to another.
struct Path {
  std::array<ImVec2, 4> points;
  ImVec2 at(float t) const;
};

/// Returns the path between the host (kHostDevice) and a device, or between two
/// devices.
Path path_between(const StageLayout& layout, int from, int to);

}  // namespace lockstep::gui

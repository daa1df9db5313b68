// Where host and devices stand on the stage, and the ways between them.
#pragma once

#include <array>
#include <vector>

#include "gui/model/model.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// At most so many devices have a card of their own; the others share the last.
inline constexpr size_t kMaxCards = 16;

struct StageLayout {
  Rect host;
  std::vector<Rect> cards;  ///< one per device, or per group behind the 15th
  bool compact = false;     ///< cards are small: only what matters most
  bool two_rows = false;
  Rect below;  ///< the room for arcs between devices

  /// The card of a device.
  size_t card_of(int device) const {
    return std::min(static_cast<size_t>(device), cards.size() - 1);
  }
};

StageLayout lay_out(const Rect& room, size_t devices);

/// A cubic curve from one memory to another.
struct Path {
  std::array<ImVec2, 4> points;
  ImVec2 at(float t) const;
};

/// Between the host (kHostDevice) and devices, or between two devices.
Path path_between(const StageLayout& layout, int from, int to);

}  // namespace lockstep::gui

// The layout for DistributedDataParallel: ranks in two rows around a ring, each with
// its host on the outside and its device on the ring.
#pragma once

#include <vector>

#include "gui/model/model.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

struct RingLayout {
  std::vector<Rect> hosts, devices;  ///< by card; ranks after the 15th share the last
  std::vector<float>
      ports;  ///< where a card is attached to the ring: a share of its length
  std::vector<size_t> card;  ///< by device
  Rect loop;                 ///< the ring runs around this rectangle, with round ends
  bool compact = false;      ///< small cards: only the essentials

  bool is_top(size_t of_card) const { return devices[of_card].y < loop.y; }
  /// A point on the ring, clockwise from the upper left. Whole turns are ignored.
  ImVec2 on_loop(float share) const;
  /// Where a card's stub begins.
  ImVec2 port(size_t of_card) const;
};

/// Returns the devices in the order of the ring: from the trace's rings if there are
/// any, otherwise by number.
std::vector<int> ring_order(const Model& model);

/// True if there are several ranks with one device each.
bool is_ring(const Model& model);

RingLayout lay_out_ring(const Rect& room, const std::vector<int>& order);

/// Returns the position of a message on its clockwise path; `t` from 0 to 1.
ImVec2 on_ring_path(const RingLayout& layout, size_t from, size_t to, float t);

}  // namespace lockstep::gui

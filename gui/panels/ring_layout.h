// Where the ranks of a DistributedDataParallel stand: in two rows around a ring, each
// with its own host on the outside and its device on the ring.
#pragma once

#include <vector>

#include "gui/model/model.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

struct RingLayout {
  std::vector<Rect> hosts, devices;  ///< by card; ranks behind the 15th share the last
  std::vector<float> ports;  ///< where a card meets the ring: a share of the way round
  std::vector<size_t> card;  ///< of each device
  Rect loop;                 ///< the ring: a line around this, with round ends
  bool compact = false;      ///< cards are small: only what matters most

  bool is_top(size_t of_card) const { return devices[of_card].y < loop.y; }
  /// Clockwise from the upper left; whole turns do not matter.
  ImVec2 on_loop(float share) const;
  /// Where a card's stub leaves the card.
  ImVec2 port(size_t of_card) const;
};

/// The devices as the messages go round: from the trace's own rings where there are
/// any, else by number.
std::vector<int> ring_order(const Model& model);

/// Several ranks, each with one device?
bool is_ring(const Model& model);

RingLayout lay_out_ring(const Rect& room, const std::vector<int>& order);

/// The way of a message, clockwise; `t` from 0 to 1.
ImVec2 on_ring_path(const RingLayout& layout, size_t from, size_t to, float t);

}  // namespace lockstep::gui

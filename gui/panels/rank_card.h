// One rank on the ring: its host's current call, and its device's streams and memory.
#pragma once

#include <string>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

struct RankCard {
  Rect host, device;
  int number = 0;   ///< the device's index
  size_t more = 0;  ///< ranks that share the card
  bool compact = false;
};

void draw_rank_card(const Ui& ui, const RankCard& card, const OpenTrace& trace);

/// Returns a rank's part of a collective: "all_reduce · bucket 1" or "broadcast ·
/// buffers"; with `brief`, "bucket 1" or "broadcast".
std::string collective_label(const Model& model, uint32_t event, bool brief = false);

}  // namespace lockstep::gui

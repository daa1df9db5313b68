// What flies across the stage in program order: the copies that an event caused, one
// after the other, and the messages of its collectives round by round, of all ranks.
#pragma once

#include <vector>

#include "gui/model/state.h"

namespace lockstep::gui {

/// Copies that fly side by side.
struct Flight {
  std::vector<uint32_t> copies;    ///< indices into Model::copies
  uint32_t collective = kNoEvent;  ///< index into Model::collectives, and its round
  int round = -1;
};

/// The flights of an event and of all that it caused, in program order; looks at no
/// more than 50,000 events.
std::vector<Flight> flights_of(const Model& model, const Event& cause);

/// Puts into `state` what is in the air at its progress, and the collective it is of.
void fly(const Model& model, const std::vector<Flight>& flights, State& state);

/// In time order: the collective that the devices are in.
void find_underway(const Model& model, State& state);

}  // namespace lockstep::gui

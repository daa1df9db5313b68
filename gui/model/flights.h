// Transfers that the stage animates in program order: the copies that an event caused,
// one after another, and the messages of its collectives, round by round, of all ranks.
#pragma once

#include <vector>

#include "gui/model/state.h"

namespace lockstep::gui {

/// Copies that are in flight at the same time.
struct Flight {
  std::vector<uint32_t> copies;    ///< indices into Model::copies
  uint32_t collective = kNoEvent;  ///< index into Model::collectives
  int round = -1;
};

/// Returns the flights of an event and of everything it caused, in program order. Scans
/// at most 50,000 events.
std::vector<Flight> flights_of(const Model& model, const Event& cause);

/// Adds to `state` the packets in flight at its progress, and their collective.
void fly(const Model& model, const std::vector<Flight>& flights, State& state);

/// In time order: sets the collective that the devices are currently executing.
void find_underway(const Model& model, State& state);

}  // namespace lockstep::gui

// What moves between the devices: the transfers that the stage animates in program
// order, the collective in progress, and what one message of a ring carries.
#pragma once

#include <string>
#include <vector>

#include "gui/model/state.h"

namespace lockstep::gui {

/// Copies that are in flight at the same time: one copy, or the messages that all ranks
/// exchange in one round of a collective.
struct Transfer {
  std::vector<uint32_t> copies;    ///< indices into Model::copies
  uint32_t collective = kNoEvent;  ///< index into Model::collectives
  int round = -1;
};

/// Returns the transfers of an event and of everything it caused, in program order.
/// Scans at most 50,000 events.
std::vector<Transfer> transfers_of(const Model& model, const Event& cause);

/// Adds to `state` the packets in flight at its progress, their collective, and all
/// links that the transfers use. Copies that overlapped fly at the same time, others
/// one after the other, and gaps between them are left out; those of null devices,
/// whose times have no meaning, are spread evenly.
void add_packets(const Model& model, const std::vector<Transfer>& transfers,
                 State& state);

/// In time order: sets the collective that the devices are currently executing.
void find_underway(const Model& model, State& state);

/// Completes `state.still`, which has the copies that run now. In time order, nothing
/// else is in flight, and playing shows the same.
void find_still(const Model& model, State& state);

/// Which chunk a message carries, and whether the receiver adds it to its data or
/// replaces its data with it.
struct RingMessage {
  int ranks = 0;   ///< ranks in the collective; 0 if unknown
  int rounds = 0;  ///< 2 (ranks - 1) for an all-reduce, else ranks - 1
  int chunk = -1;  ///< from 0 to `ranks` - 1; -1 if the data is not chunked
  bool adds = false;
};

RingMessage ring_message(const Model& model, const Copy& copy);

bool is_all_reduce(const Model& model, uint32_t collective);

/// Returns, for example, "round 2 of 6: +k adds chunk k (0 to 3) to the next rank's";
/// of a message between stages, message_in_words().
std::string round_in_words(const Model& model, const Underway& now);

}  // namespace lockstep::gui

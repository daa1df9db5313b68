// The contents of a ring message: which chunk it carries, and whether the receiver adds
// it to its data or replaces them.
#pragma once

#include <string>

#include "gui/model/state.h"

namespace lockstep::gui {

struct RingMessage {
  int ranks = 0;   ///< ranks in the collective; 0 if unknown
  int rounds = 0;  ///< 2 (ranks - 1) for an all-reduce, else ranks - 1
  int chunk = -1;  ///< from 1 to `ranks`; -1 if the data is not chunked
  bool adds = false;
};

RingMessage ring_message(const Model& model, const Copy& copy);

bool is_all_reduce(const Model& model, uint32_t collective);

/// "round 2 of 6: adding, each 6.62 MB"
std::string round_in_words(const Model& model, const Underway& now);

}  // namespace lockstep::gui

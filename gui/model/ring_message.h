// What a message of a ring carries: which chunk, and whether it is added or replaces
// what is there.
#pragma once

#include <string>

#include "gui/model/state.h"

namespace lockstep::gui {

struct RingMessage {
  int ranks = 0;   ///< of the collective; 0 if the trace does not say
  int rounds = 0;  ///< 2 (ranks - 1) of an all-reduce, ranks - 1 of others
  int chunk = -1;  ///< counted from 1, of `ranks`; -1 if it is not cut in chunks
  bool adds = false;
};

RingMessage ring_message(const Model& model, const Copy& copy);

bool is_all_reduce(const Model& model, uint32_t collective);

/// "round 2 of 6: adding, each 6.62 MB"
std::string round_in_words(const Model& model, const Underway& now);

}  // namespace lockstep::gui

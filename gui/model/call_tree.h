// One training step with repeated calls merged: siblings with the same name become one
// entry, which records their number and their total duration.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

struct CallEntry {
  uint32_t name = 0;   ///< index into Model::strings
  uint32_t first = 0;  ///< the first event that this entry represents
  Kind kind = Kind::call;
  int depth = 0;
  uint32_t count = 0;
  int64_t time = 0;   ///< ns, summed; may exceed wall-clock time if tasks overlap
  uint32_t last = 0;  ///< one past the last entry below it
};

/// Returns the entries of one rank in program order, each followed by its descendants.
/// Omits marks and everything after the step's first 200,000 events.
std::vector<CallEntry> call_tree(const Model& model, size_t step, int rank = 0);

}  // namespace lockstep::gui

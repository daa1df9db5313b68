// Where the recorded step was busy, placed in the lanes of another trace of it.
//
// A pure function of two Models.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

struct Ghost {
  int64_t length = 0;  ///< ns, of the recorded step
  /// By lane of the other trace: when the recorded lane was busy, in ns from the begin
  /// of the step, merged where it cannot be seen.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> lanes;
};

/// A lane's counterpart is the lane of the same device and stream, or host thread; of a
/// program that was made from one device's step, that device's.
Ghost ghost_of(const Model& recorded, size_t recorded_step, const Model& shown);

}  // namespace lockstep::gui

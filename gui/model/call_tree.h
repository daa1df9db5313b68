// One training step with alike calls put together: siblings of one name become one
// entry, which knows how many there were and how long they took.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

struct CallEntry {
  uint32_t name = 0;   ///< number in Model::strings
  uint32_t first = 0;  ///< the first event that it stands for
  Kind kind = Kind::call;
  int depth = 0;
  uint32_t count = 0;
  int64_t time = 0;   ///< ns, summed; of tasks that run at once more than the clock's
  uint32_t last = 0;  ///< one past the last entry below it
};

/// Of one rank, in program order, each entry followed by those that it caused. Marks
/// are left out, and what lies behind the step's first 200,000 events.
std::vector<CallEntry> call_tree(const Model& model, size_t step, int rank = 0);

}  // namespace lockstep::gui

// Where to read on: the file of PyTorch that does what an event does.
#pragma once

#include <string_view>

#include "gui/model/state.h"

namespace lockstep::gui {

/// Returns the file for the innermost event at the position that has one; "" if none
/// has. A collective is looked up by its purpose: DistributedDataParallel's reducer
/// sums gradients, but not what local SGD averages.
std::string_view pytorch_file_at(const Model& model, const State& state);

}  // namespace lockstep::gui

// Two traces in step: the place in one that corresponds to a place in the other.
#pragma once

#include "gui/model/position.h"

namespace lockstep::gui {

/// By the step's place in its trace (the first with the first), then by phase, then by
/// how far the position is within that phase. Where the other trace has no such phase
/// (`single` has no `replicate`) it waits at the end of the last one that both have.
Position aligned(const Model& from, const Position& position, const Model& to);

}  // namespace lockstep::gui

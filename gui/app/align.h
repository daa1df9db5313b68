// Aligns two traces: the position in one that corresponds to a position in the other.
#pragma once

#include "gui/model/position.h"

namespace lockstep::gui {

/// Steps correspond by order, then phases by name, then positions by progress within
/// the phase. If the other trace lacks a phase (`single` has no `replicate`), returns
/// the end of the last phase that both have.
Position aligned(const Model& from, const Position& position, const Model& to);

}  // namespace lockstep::gui

// The timeline: what ran when, on every lane, from the whole trace down to the
// nanosecond.
#pragma once

#include <cstdint>
#include <string>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Draws the card of the current trace and takes the mouse that is over it.
void draw_timeline(const Ui& ui, const Rect& area, App& app);

/// `w`/`s` zoom in and out, `[`/`]` pan, `f` follow the position or not.
void timeline_keys(App& app);

/// The nearest event behind `from` (or before it), in time order, whose name contains
/// `needle`, whatever the case; kNoEvent if there is none.
uint32_t next_hit(const Model& model, const std::string& needle, uint32_t from,
                  bool forward);

}  // namespace lockstep::gui

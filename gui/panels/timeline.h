// The timeline: what ran when, on every lane, from the whole trace down to one
// nanosecond.
#pragma once

#include <cstdint>
#include <string>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Draws the current trace and handles the mouse over it.
void draw_timeline(const Ui& ui, const Rect& area, App& app);

/// Handles the keys: `w`/`s` zoom in and out, `[`/`]` pan, `f` toggles following.
void timeline_keys(App& app);

/// Returns the next (or previous) event in time order whose name contains `needle`,
/// ignoring case, or kNoEvent.
uint32_t next_hit(const Model& model, const std::string& needle, uint32_t from,
                  bool forward);

}  // namespace lockstep::gui

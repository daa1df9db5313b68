// The screen layout: the bar on top, calls and source at the left, the stage in the
// middle, numbers at the right, the timeline at the bottom.
#pragma once

#include <string>

#include "gui/ui/ui.h"

namespace lockstep::gui {

class App;

/// Draws the whole screen. `progress` is below 1 while `loading` is being read.
void draw_screen(Ui& ui, const Rect& screen, App& app, double progress,
                 const std::string& loading);

}  // namespace lockstep::gui

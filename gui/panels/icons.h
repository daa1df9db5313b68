// Transport icons, drawn as shapes rather than taken from a font.
#pragma once

#include "gui/ui/ui.h"

namespace lockstep::gui {

enum class Icon { play, pause, first, back, forward, last, into, caller };

/// Centred in `box`, about 12 points high.
void draw_icon(const Ui& ui, const Rect& box, Icon icon, ImU32 colour);

}  // namespace lockstep::gui

// One device on the stage: its name, what it runs, its memory, its port.
#pragma once

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

struct CardStyle {
  bool compact = false;
  bool hot = false;    ///< its port moves far more than the others in this step
  bool group = false;  ///< stands for this device and all after it
};

void draw_device_card(const Ui& ui, const Rect& r, const OpenTrace& trace, int device,
                      CardStyle style);

/// Returns the device whose port carries at least 1.5 times the step's mean, or
/// kHostDevice if there is none.
int busiest_device(const OpenTrace& trace);

}  // namespace lockstep::gui

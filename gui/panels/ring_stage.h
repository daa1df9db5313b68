// The stage for DistributedDataParallel: ranks around a ring.
#pragma once

#include "gui/app/app.h"
#include "gui/panels/ring_layout.h"

namespace lockstep::gui {

void draw_ring_stage(const Ui& ui, const Rect& room, App& app, OpenTrace& trace);

}  // namespace lockstep::gui

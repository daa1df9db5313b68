// How the classes of a pipeline's grid look, and their legend.
#pragma once

#include <optional>

#include "gui/ui/ui.h"
#include "tracer/analysis/pipeline.h"

namespace lockstep::gui {

/// How a class looks: filled where a device does something, else hatched. Two hatched
/// classes differ in their colours, and fill, drain and uneven stages also in their
/// hatches.
struct SlotLook {
  ImU32 colour;
  std::optional<Hatch> hatch;
};
SlotLook slot_look(const Theme& theme, tracer::Slot slot);

/// Fills `r` with the look of a class: hatched where a device does nothing.
void fill_slot(const Ui& ui, const Rect& r, tracer::Slot slot);

/// Draws the classes that occur with their shares, in as many lines as they need.
/// Returns the height; if `draw` is false, only measures it.
float draw_slot_legend(const Ui& ui, const Rect& area, const tracer::Pipeline& grid,
                       bool draw);

}  // namespace lockstep::gui

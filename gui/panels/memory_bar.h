// Shared by the device cards: memory by category, and task names.
#pragma once

#include <string>
#include <vector>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Draws a bar of memory by category; `scale` bytes fill it.
void draw_memory(const Ui& ui, const Rect& r, const Memory& memory, int64_t scale);
/// Names the largest categories beside their colours, as many as fit.
void draw_memory_legend(const Ui& ui, Rect r, const Memory& memory);
std::vector<size_t> by_size(const Memory& memory);  ///< categories, largest first
int64_t largest_memory(const OpenTrace& trace);     ///< over all devices, now

/// "conv2d", "h2d from host"
std::string task_name(const Model& model, uint32_t event);

}  // namespace lockstep::gui

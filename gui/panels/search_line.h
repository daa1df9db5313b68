// The search field.
#pragma once

#include <string>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// True if `name` contains `needle`, ignoring case.
bool contains(const std::string& name, const std::string& needle);

void draw_search_line(const Ui& ui, const Rect& area, App& app);

/// Goes to the next (or previous) event whose name contains the search text.
void go_to_hit(App& app, bool forward);

}  // namespace lockstep::gui

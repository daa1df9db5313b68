// The space of the panels: splitters that the mouse moves between them, and titles
// that enlarge a panel when double-clicked.
#pragma once

#include "gui/app/app.h"

namespace lockstep::gui {

/// How much room a panel gets, in points.
struct Extent {
  float whole = 0;      ///< the room that it shares with others
  float automatic = 0;  ///< without a choice of the user
  float least = 0, most = 0;
  /// Returns the extent for a user's share of `whole`; 0: automatic. Whole points.
  float of(float share) const;
};

/// Draws the splitter in the gap beside a panel and follows the mouse: sets `share`
/// while it is dragged, within the extent's limits, and to 0 at a double click. `from`
/// is the panel's other edge, on the axis that the splitter moves along.
void draw_splitter(const Ui& ui, const char* id, const Rect& gap, float from,
                   const Extent& extent, float& share);

/// Enlarges a panel, or restores the layout, when its title bar is double-clicked.
void toggle_by_title(const Rect& area, Pane pane, Settings& settings);

}  // namespace lockstep::gui

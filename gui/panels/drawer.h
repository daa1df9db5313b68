// The drawer below the stage: notes, the table of kernels and operations, search
// results, and the statistics of a selected time range.
#pragma once

#include "gui/panels/panels.h"

namespace lockstep::gui {

/// A row of a list: what a click goes to, and how it looks.
struct DrawerRow {
  Rect area;
  bool hovered = false, clicked = false;
};
/// Draws the background of a row and handles the mouse.
DrawerRow drawer_row(const Ui& ui, int id, const Rect& area, bool current);

void draw_notes_list(const Ui& ui, const Rect& room, App& app);
void draw_hits(const Ui& ui, const Rect& room, App& app);
void draw_range(const Ui& ui, const Rect& room, App& app);
/// Draws the sliders of "what if".
void draw_sliders(const Ui& ui, const Rect& room, App& app);
/// Returns the height at which a drawer of this width shows all sliders; 0: it has
/// none.
float drawer_of_sliders_height(const Ui& ui, float width, const App& app);
/// Draws the table of a step or of the whole trace.
void draw_op_table(const Ui& ui, const Rect& room, App& app);
/// Draws `trace.ops.rows` with a header that sorts; a click on a row goes to its next
/// instance, shift-click to the previous one, a click on its slowest time to that one.
void draw_op_rows(const Ui& ui, Rect room, App& app);
/// Sorts the rows as chosen if they are not.
void keep_sorted(const Settings& settings, const Model& model, OpTable& table);

}  // namespace lockstep::gui

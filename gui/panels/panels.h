// The panels, one file each. Each draws itself into its area and turns clicks into
// moves of the App; none keeps anything of its own.
#pragma once

#include <string>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

void draw_top_bar(const Ui& ui, const Rect& area, App& app);
/// From this width on the top bar names the trace; below it the timeline does.
constexpr float kNamesTrace = 1250;
/// "resnet18 · DataParallel · 4 devices"
std::string trace_title(const Model& model);
void draw_calls(const Ui& ui, const Rect& area, App& app);
/// The call tree, in the room inside the card of calls.
void draw_call_tree(const Ui& ui, Rect inside, App& app);
void draw_source(const Ui& ui, const Rect& area, App& app);
void draw_stage(const Ui& ui, const Rect& area, App& app, OpenTrace& trace);
void draw_narration(const Ui& ui, const Rect& area, App& app);
/// How high the narration wants to be in a box of this width.
float narration_height(const Ui& ui, float width, App& app);
void draw_step_times(const Ui& ui, const Rect& area, App& app);
void draw_ports(const Ui& ui, const Rect& area, App& app);
/// Computing and communicating, device by device, in the room inside the card.
void draw_overlap(const Ui& ui, Rect room, const OpenTrace& trace);
void draw_inspector(const Ui& ui, const Rect& area, App& app);
void draw_compare(const Ui& ui, const Rect& area, App& app);
/// What is wrong with the file, in one line; a click puts it away.
void draw_problems(const Ui& ui, const Rect& area, OpenTrace& trace);
void draw_start(const Ui& ui, const Rect& area, App& app);
void draw_loading(const Ui& ui, const Rect& area, double progress,
                  const std::string& name);
void draw_help(const Ui& ui, const Rect& screen, App& app);
void draw_tour(const Ui& ui, const Rect& screen, App& app);

// ---- The timeline

/// Draws the card of the current trace and takes the mouse that is over it.
void draw_timeline(const Ui& ui, const Rect& area, App& app);

/// `w`/`s` zoom in and out, `[`/`]` pan, `f` follow the position or not.
void timeline_keys(App& app);

// ---- Search

/// Does the name hold what was typed, whatever the case of its letters?
bool contains(const std::string& name, const std::string& needle);

void draw_search_line(const Ui& ui, const Rect& area, App& app);

/// The nearest event behind `from` (or before it), in time order, whose name contains
/// `needle`, whatever the case; kNoEvent if there is none.
uint32_t next_hit(const Model& model, const std::string& needle, uint32_t from,
                  bool forward);

/// Goes to the next (or previous) event whose name contains the search text.
void go_to_hit(App& app, bool forward);

}  // namespace lockstep::gui

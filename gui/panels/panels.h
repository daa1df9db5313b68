// The panels, one file each. Each draws itself into its area and turns clicks into
// moves of the App; panels hold no state.
#pragma once

#include <array>
#include <string>

#include "gui/app/app.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

void draw_top_bar(const Ui& ui, const Rect& area, App& app);
/// From this width on, the top bar names the trace; below it, the timeline does.
constexpr float kNamesTrace = 1250;
/// Returns "resnet18 · DataParallel · 4 devices".
std::string trace_title(const Model& model);
void draw_calls(const Ui& ui, const Rect& area, App& app);
/// Draws the call tree inside the card of calls.
void draw_call_tree(const Ui& ui, Rect inside, App& app);
void draw_source(const Ui& ui, const Rect& area, App& app);
void draw_stage(const Ui& ui, const Rect& area, App& app, OpenTrace& trace);
void draw_narration(const Ui& ui, const Rect& area, App& app);
/// Returns the height that the narration needs at this width.
float narration_height(const Ui& ui, float width, App& app);
void draw_step_times(const Ui& ui, const Rect& area, App& app);
void draw_ports(const Ui& ui, const Rect& area, App& app);
/// Draws computation and communication per device, inside the card.
void draw_overlap(const Ui& ui, Rect room, const OpenTrace& trace);
void draw_inspector(const Ui& ui, const Rect& area, App& app);
void draw_compare(const Ui& ui, const Rect& area, App& app);
/// Draws the file's problems in one line; a click dismisses it.
void draw_problems(const Ui& ui, const Rect& area, OpenTrace& trace);
void draw_start(const Ui& ui, const Rect& area, App& app);
void draw_loading(const Ui& ui, const Rect& area, double progress,
                  const std::string& name);
void draw_help(const Ui& ui, const Rect& screen, App& app);
void draw_tour(const Ui& ui, const Rect& screen, App& app);

/// Two tabs in a card's title bar; `second` selects the second.
struct Tab {
  const char* name;
  const char* tip;
};
void draw_tabs(const Ui& ui, const Rect& area, const std::array<Tab, 2>& tabs,
               bool& second);

/// Returns an event's name in the chosen naming scheme.
std::string display_name(const Model& model, const Event& event, bool cpp);
/// Returns "host" or "device 2".
std::string device_label(const Model& model, int device);

}  // namespace lockstep::gui

// The panels, one file each. Each draws itself into its area and turns clicks into
// moves of the App; none keeps anything of its own.
#pragma once

#include <array>
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

/// Two words in a card's title bar, of which one is chosen: the second if `second`.
struct Tab {
  const char* name;
  const char* tip;
};
void draw_tabs(const Ui& ui, const Rect& area, const std::array<Tab, 2>& tabs,
               bool& second);

/// How an event is called in the chosen language of names.
std::string display_name(const Model& model, const Event& event, bool cpp);
/// "host", "device 2"
std::string device_label(const Model& model, int device);

}  // namespace lockstep::gui

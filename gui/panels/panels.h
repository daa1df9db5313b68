// The panels, one file each. Each function draws its panel into an area and translates
// clicks into calls to the App; panels hold no state.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gui/app/app.h"
#include "gui/model/filter.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

void draw_top_bar(const Ui& ui, const Rect& area, App& app);
/// Minimum width at which the top bar shows the trace's name; in a narrower window, the
/// timeline does.
constexpr float kNamesTrace = 1250;
/// Returns, for example, "resnet18 · DataParallel · 4 devices".
std::string trace_title(const Model& model);
/// Returns " of 1024" if the ranks represent more, else "".
std::string represented(const Model& model);
/// Returns "measured", "emulated", or "null: no times".
std::string_view clock_words(const Model& model);
void draw_calls(const Ui& ui, const Rect& area, App& app);
/// Draws the call tree inside the "calls" card.
void draw_call_tree(const Ui& ui, Rect inside, App& app);
void draw_source(const Ui& ui, const Rect& area, App& app);
void draw_stage(const Ui& ui, const Rect& area, App& app, OpenTrace& trace);
void draw_narration(const Ui& ui, const Rect& area, App& app);
/// Returns the height required by the narration at the given width.
float narration_height(const Ui& ui, float width, App& app);
/// Draws the open question of the quiz in place of the narration.
void draw_quiz(const Ui& ui, const Rect& area, App& app);
float quiz_height(const Ui& ui, float width, const OpenTrace& trace);
/// Draws "Why not 4x?": devices x step time by class, the speed-up, the longest path.
void draw_why(const Ui& ui, const Rect& area, App& app);
std::string why_title(const OpenTrace& trace);
/// Draws the collectives of the rank's step: which is exposed, and by how much.
void draw_collectives(const Ui& ui, const Rect& area, App& app);
/// Draws the grid of the step's pipeline: what each device did when, and why nothing.
void draw_pipeline(const Ui& ui, const Rect& area, App& app);
/// Returns the pipeline of the current step, or nullptr: it has none, or it is not
/// known.
const tracer::Pipeline* pipeline_here(const OpenTrace& trace);

/// Returns the analysis of another open trace that did the current one's work on one
/// device, or nullptr. REQUIRES that the current trace is analysed.
const tracer::Summary* single_of(App& app);
/// Draws the bar that opens draw_why(). Returns the bar's height, or 0 if the classes
/// are unknown.
float draw_why_bar(const Ui& ui, const Rect& room, App& app);
float why_bar_height(const OpenTrace& trace);
/// Returns the segment of the longest path that was walked to, or that runs now.
/// REQUIRES that the step has a path.
size_t current_segment(const OpenTrace& trace);
/// Goes to the next (or previous) segment of the longest path.
void walk_path(App& app, bool forward);
void draw_step_times(const Ui& ui, const Rect& area, App& app);
void draw_ports(const Ui& ui, const Rect& area, App& app);
/// Return the heights at which these panels show all rows, of height `row` (16 to 21).
float step_times_height(const OpenTrace& trace, float row);
float ports_height(const OpenTrace& trace, float row);
/// Draws computation and communication for each device, inside the card.
void draw_overlap(const Ui& ui, Rect room, const OpenTrace& trace);
/// Draws the drawer: notes, the table of kernels, search results, or the selection.
void draw_drawer(const Ui& ui, const Rect& area, App& app);
void draw_inspector(const Ui& ui, const Rect& area, App& app);
void draw_compare(const Ui& ui, const Rect& area, App& app);
/// Returns why the times of compared traces say nothing about each other: different
/// nets, batches or clocks; "" if they do.
std::string why_incomparable(const std::vector<OpenTrace*>& traces);
/// Draws what the user chose for the middle: the stage, the pipeline's grid, …
void draw_middle_panel(const Ui& ui, const Rect& area, App& app);
/// Draws a frame of a film: the middle panel or, at its end, the step's numbers.
void draw_film(const Ui& ui, const Rect& screen, App& app);
/// A number that ends a film, and what it is.
struct FilmNumber {
  std::string value, words;
};
std::vector<FilmNumber> film_numbers(const OpenTrace& trace);
/// Draws the problems found in the file on one line; a click dismisses it.
void draw_problems(const Ui& ui, const Rect& area, OpenTrace& trace);
void draw_start(const Ui& ui, const Rect& area, App& app);
void draw_loading(const Ui& ui, const Rect& area, double progress,
                  const std::string& name);
void draw_help(const Ui& ui, const Rect& screen, App& app);
/// Where the list of keys is drawn. The larger type is used where all of it fits.
struct HelpLayout {
  struct Line {
    Rect box;
    Type type;
    ImU32 Theme::* ink;
    const char* text;
  };
  Rect card;
  std::vector<Line> lines;
  bool fits = false;  ///< no line is cut or left out
};
HelpLayout help_layout(const Ui& ui, const Rect& screen);
void draw_tour(const Ui& ui, const Rect& screen, App& app);
/// Returns the area of a card of `wide` widths to choose from, beside `focus` where it
/// fits without covering it; `height_of` gives its height at a width.
Rect beside(const Rect& focus, const Rect& screen, std::span<const float> wide,
            const std::function<float(float)>& height_of);
/// Draws the field for opening a file, with completions or the recent files.
void draw_open(const Ui& ui, const Rect& screen, App& app);
/// Draws one tab per open trace.
void draw_trace_tabs(const Ui& ui, const Rect& area, App& app);
/// Draws `App::message`, if any.
void draw_message_line(const Ui& ui, const Rect& screen, const App& app);

// ---- The timeline

/// Draws the current trace and handles mouse input over it.
void draw_timeline(const Ui& ui, const Rect& area, App& app);

/// Handles the keys: `w`/`s` zoom in and out, `[`/`]` pan, `f` toggles following.
void timeline_keys(App& app);

// ---- Search

void draw_search_line(const Ui& ui, const Rect& area, App& app);

/// Returns the next (or previous) event in time order that matches the filter `needle`
/// (gui/model/filter.h), or kNoEvent.
uint32_t next_hit(const Model& model, const std::string& needle, uint32_t from,
                  bool forward);

/// Goes to the next (or previous) event whose name contains the search text.
void go_to_hit(App& app, bool forward);

}  // namespace lockstep::gui

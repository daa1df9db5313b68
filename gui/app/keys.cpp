// The keyboard: a single table serves both key handling and the overlay.
#include <fmt/format.h>

#include <algorithm>

#include "gui/app/app.h"
#include "gui/app/what_if.h"
#include "gui/panels/panels.h"
#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

const std::vector<KeyHelp>& key_help() {
  static const std::vector<KeyHelp> help = {
      {"Play", "space", "play, pause"},
      {"Play", "- / =", "slower, faster"},
      {"Play", "e", "director's pace, even pace or real time"},
      {"Play", "o", "program order or time order"},
      {"Play", "q", "predict, then reveal: ask before a phase"},
      {"Play", "l", "loop this training step"},
      {"Step", "→ / ←", "over: to the next call, or back"},
      {"Step", "↓ / shift ↓", "into what it caused; back by one event"},
      {"Step", "↑", "up to the caller"},
      {"Step", "shift →", "out: past everything the caller caused"},
      {"Find", "/", "search: a name, or dev:2 phase:reduce bytes>1M; esc clears it"},
      {"Find", "n / shift n", "next, previous hit; with y: on the path"},
      {"Jump", "m / shift m", "next, previous data transfer"},
      {"Jump", "p / shift p", "next, previous phase"},
      {"Jump", "page ↓ / page ↑", "next, previous training step"},
      {"Jump", "home / end", "beginning, end of the trace"},
      {"Jump", "g", "the next event that breaks a law (trace check)"},
      {"Jump", "b / shift b", "set or remove a bookmark, go to the next one"},
      {"Jump", "a", "write a note here; it is kept beside the trace"},
      {"File", "ctrl o", "open a trace; or drag one onto the window"},
      {"File", "ctrl c", "copy the event's name and id"},
      {"File", "ctrl shift c", "copy the command line that opens this place"},
      {"File", "ctrl s", "save a picture beside the trace"},
      {"File", "ctrl e", "save the table of kernels as CSV"},
      {"View", "z / shift z", "timeline: zoom to the event, to the step"},
      {"View", "w / s", "timeline: zoom in, out"},
      {"View", "[ / ]", "timeline: pan"},
      {"View", "f", "timeline: toggle follow mode"},
      {"View", "u", "timeline: memory, busy devices, bytes per second"},
      {"View", "r / shift r", "the same point in the next, previous rank's program"},
      {"View", "k", "call stack, or the step's call tree"},
      {"View", "y", "why not N times as fast? or the stage"},
      {"View", "i", "the pipeline's grid, or the stage"},
      {"View", "h", "which bucket is hidden, which exposed? or the stage"},
      {"View", "v", "bytes by port, or hidden communication"},
      {"View", "c", "PyTorch or C++ names"},
      {"View", "d", "compare the open traces side by side"},
      {"View", "t", "toggle dark and light theme"},
      {"View", "x", "drawer: notes, kernels, search results, selection"},
      {"View", "j / shift j", "what if: sliders; the recorded step, or the emulated"},
      {"View", "shift drag", "timeline: select a time range, for its statistics"},
      {"View", "double click", "a panel's title: enlarge it, esc: restore it"},
      {"View", "tab", "next open trace"},
      {"View", "?", "this list; esc closes it"},
  };
  return help;
}

std::string key_table() {
  constexpr size_t kColumn = 20;
  std::string text;
  std::string_view group;
  for (const KeyHelp& help : key_help()) {
    const std::string_view keys = help.keys;
    const auto continued = [](char c) {  // arrows are three bytes each
      return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    };
    const size_t wide = keys.size() - static_cast<size_t>(std::count_if(
                                          keys.begin(), keys.end(), continued));
    const std::string blank(wide < kColumn ? kColumn - wide : 1, ' ');
    text += fmt::format("{:<6}{}{}{}\n", group == help.group ? "" : help.group, keys,
                        blank, help.what);
    group = help.group;
  }
  return text;
}

namespace {

void show_all_panels(Settings& settings) {
  settings.enlarged = Pane::none;
  settings.compare = false;
}

/// Gives the keyboard to the search line, which is in the CALLS panel.
void start_search(Settings& settings) {
  show_all_panels(settings);
  settings.searching = true;
}

bool pressed(char c) { return key_pressed(key_of(c)); }

void play_keys(App& app) {
  Transport& transport = app.settings.transport;
  OpenTrace& trace = app.trace();
  const Model& model = *trace.model;
  if (key_pressed(Key::space)) {
    const bool at_end =
        trace.position.order == Order::program
            ? trace.position.place == places_of(model, trace.position).second
            : trace.position.time >= model.length;
    if (!transport.playing && at_end) app.move(Move::first);
    transport.playing = !transport.playing;
  }
  if (key_pressed(key_of('-'), true)) change_speed(transport, false);
  if (key_pressed(key_of('='), true)) change_speed(transport, true);
  if (pressed('e')) transport.pace = next_pace(transport.pace);
  if (pressed('q')) {
    app.settings.quiz = !app.settings.quiz;
    trace.quiz = {};
    show_all_panels(app.settings);  // among them the one that asks
    app.settings.why = app.settings.pipeline = app.settings.exposed = false;
  }
  for (size_t i = 0; trace.quiz.is_open() && i < 4; ++i) {
    if (pressed(static_cast<char>('1' + i))) answer_choice(trace.quiz, i);
  }
  if (pressed('l')) transport.loop = !transport.loop;
  if (pressed('o')) {
    const bool to_time = trace.position.order == Order::program;
    if (to_time && transport.pace == Pace::director) {
      transport.pace = Pace::even;
      app.say("time order, at an even pace: the director orders events itself (e)");
    }
    app.go(to_time ? in_time_order(model, trace.position)
                   : in_program_order(model, trace.position));
  }
}

void move_keys(App& app, bool shift) {
  const auto on = [&](Key key, Move plain, Move shifted) {
    if (key_pressed(key, true)) app.move(shift ? shifted : plain);
  };
  on(Key::right, Move::over, Move::out);
  on(Key::left, Move::back_over, Move::back_over);
  on(Key::down, Move::into, Move::back);
  on(Key::up, Move::caller, Move::caller);
  on(key_of('m'), Move::movement, Move::back_movement);
  on(key_of('p'), Move::phase, Move::back_phase);
  on(Key::page_down, Move::step, Move::step);
  on(Key::page_up, Move::back_step, Move::back_step);
  on(Key::home, Move::first, Move::first);
  on(Key::end, Move::last, Move::last);
}

void bookmark_keys(App& app, bool shift) {
  if (pressed('a')) write_note(app);
  if (!pressed('b')) return;
  if (!shift) return toggle_bookmark(app);
  const OpenTrace& trace = app.trace();
  const std::vector<Note>& notes = trace.notes.placed;
  if (notes.empty()) return;
  const auto next = std::find_if(notes.begin(), notes.end(), [&](const Note& note) {
    return time_of(*trace.model, note.at) > trace.state.now;
  });
  app.go((next == notes.end() ? notes.front() : *next).at);
}

void view_keys(App& app, bool shift) {
  Settings& settings = app.settings;
  if (pressed('r')) {
    const OpenTrace& trace = app.trace();
    const int ranks = trace.model->ranks();
    app.focus_rank((trace.state.rank + (shift ? ranks - 1 : 1)) % ranks);
  }
  if (pressed('g')) app.go_to_violation();
  if (pressed('y')) {
    settings.why = !settings.why || settings.pipeline;
    settings.pipeline = settings.exposed = settings.compare = false;
  }
  if (pressed('i')) {
    settings.pipeline = !settings.pipeline;
    settings.exposed = settings.compare = false;
  }
  if (pressed('h')) {
    settings.exposed = !settings.exposed;
    settings.why = settings.pipeline = settings.compare = false;
  }
  if (pressed('k')) settings.tree = !settings.tree;
  if (pressed('v')) settings.overlap = !settings.overlap;
  if (pressed('c')) settings.cpp_names = !settings.cpp_names;
  if (pressed('d') && app.traces().size() > 1) {
    settings.compare = !settings.compare;
    app.go(app.trace().position);
  }
  if (pressed('j')) {
    if (shift) {
      toggle_emulated(app);
    } else if (settings.drawer == Drawer::sliders) {
      settings.drawer = Drawer::none;
    } else {
      open_what_if(app);
    }
  }
  if (pressed('x')) {
    settings.drawer = settings.drawer == Drawer::none ? Drawer::table : Drawer::none;
  }
  if (key_pressed(Key::tab))
    app.select_trace((app.current() + 1) % app.traces().size());
  if (pressed('z')) {
    OpenTrace& trace = app.trace();
    const Event& event = trace.model->events[trace.state.event];
    const Step& step = trace.model->steps[trace.state.step];
    const double from = static_cast<double>(shift ? step.begin : event.ts);
    const double to = static_cast<double>(shift ? step.end : event.end());
    const double margin = std::max(50.0, (to - from) * 0.06);
    trace.timeline.from = from - margin;
    trace.timeline.to = to + margin;
  }
}

}  // namespace

void handle_keys(App& app) {
  Settings& settings = app.settings;
  const Modifiers held = modifiers();
  if (key_pressed(Key::escape)) {
    const bool closes = settings.help || settings.tour > 0 || settings.searching ||
                        settings.enlarged != Pane::none || app.opening.shown ||
                        settings.drawer != Drawer::none || settings.editing >= 0;
    if (!closes) settings.search.clear();
    settings.help = false;
    settings.tour = 0;
    settings.searching = false;
    if (settings.enlarged == Pane::none) settings.drawer = Drawer::none;
    settings.enlarged = Pane::none;
    settings.editing = -1;
    app.opening.shown = false;
    if (app.has_trace()) app.trace().quiz.asking = SIZE_MAX;
  }
  if (settings.searching || settings.editing >= 0 || app.opening.shown) return;
  if (ImGui::GetIO().WantTextInput) return;
  const bool find = held.ctrl && pressed('f');
  if (find) start_search(settings);
  if (held.ctrl) command_keys(app, held.shift);
  if (held.ctrl || held.alt || held.super) return;
  if (pressed('/')) {
    if (held.shift)
      settings.help = !settings.help;
    else
      start_search(settings);
  }
  const bool on_path = settings.why && settings.search.empty() && app.has_trace();
  if (pressed('n')) on_path ? walk_path(app, !held.shift) : go_to_hit(app, !held.shift);
  if (pressed('t')) settings.dark = !settings.dark;
  if (settings.tour > 0 && key_pressed(Key::enter)) ++settings.tour;
  if (!app.has_trace()) return;
  play_keys(app);
  move_keys(app, held.shift);
  bookmark_keys(app, held.shift);
  view_keys(app, held.shift);
  timeline_keys(app);
}

}  // namespace lockstep::gui

#include "gui/app/keys.h"

#include "gui/app/app.h"
#include "gui/panels/search_line.h"
#include "gui/panels/timeline.h"
#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

const std::vector<KeyHelp>& key_help() {
  static const std::vector<KeyHelp> help = {
      {"Play", "space", "play, pause"},
      {"Play", "- / =", "slower, faster"},
      {"Play", "e", "even pace or real time"},
      {"Play", "o", "program order or time order"},
      {"Play", "l", "loop this training step"},
      {"Step", "→ / ←", "over: to the next call, and back"},
      {"Step", "↓ / shift ↓", "into what it caused, and back out of it"},
      {"Step", "↑", "up to the caller"},
      {"Step", "shift →", "out: past everything the caller caused"},
      {"Find", "/", "search names"},
      {"Find", "n / shift n", "next, previous hit"},
      {"Jump", "m / shift m", "next, previous movement of data"},
      {"Jump", "p / shift p", "next, previous phase"},
      {"Jump", "page ↓ / page ↑", "next, previous training step"},
      {"Jump", "home / end", "beginning, end of the trace"},
      {"Jump", "b / shift b", "set a bookmark, go to the next one"},
      {"View", "z / shift z", "timeline: zoom to the event, to the step"},
      {"View", "w / s", "timeline: zoom in, out"},
      {"View", "[ / ]", "timeline: pan"},
      {"View", "f", "timeline: toggle following the position"},
      {"View", "r / shift r", "the same point of the next, previous rank's program"},
      {"View", "k", "calls down to here, or the step's call tree"},
      {"View", "v", "bytes by port, or how much communication is hidden"},
      {"View", "c", "PyTorch's or C++ names"},
      {"View", "d", "compare the open traces side by side"},
      {"View", "t", "toggle dark and light"},
      {"View", "tab", "next open trace"},
      {"View", "?", "this list; esc closes"},
  };
  return help;
}

namespace {

bool pressed(char c) { return key_pressed(key_of(c)); }

void play_keys(App& app) {
  Transport& transport = app.choices.transport;
  Seat& seat = app.seat();
  const Model& model = *seat.model;
  if (key_pressed(Key::space)) {
    const bool at_end =
        seat.position.order == Order::program
            ? seat.position.place == places_of(model, seat.position).second
            : seat.position.time >= model.length;
    if (!transport.playing && at_end) app.move(Move::first);
    transport.playing = !transport.playing;
  }
  if (key_pressed(key_of('-'), true)) change_speed(transport, false);
  if (key_pressed(key_of('='), true)) change_speed(transport, true);
  if (pressed('e')) {
    transport.pace = transport.pace == Pace::even ? Pace::real : Pace::even;
  }
  if (pressed('l')) transport.loop = !transport.loop;
  if (pressed('o')) {
    app.go(seat.position.order == Order::program
               ? in_time_order(model, seat.position)
               : in_program_order(model, seat.position));
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
  if (!pressed('b')) return;
  Seat& seat = app.seat();
  if (!shift) {
    seat.bookmarks.push_back(seat.position);
    return;
  }
  if (seat.bookmarks.empty()) return;
  const int64_t now = seat.state.now;
  const Position* next = &seat.bookmarks.front();
  for (const Position& mark : seat.bookmarks) {
    const int64_t at = time_of(*seat.model, mark);
    const int64_t best = time_of(*seat.model, *next);
    if (at > now && (best <= now || at < best)) next = &mark;
  }
  app.go(*next);
}

void view_keys(App& app, bool shift) {
  Choices& choices = app.choices;
  if (pressed('r')) {
    const Seat& seat = app.seat();
    const int ranks = seat.model->ranks();
    app.look_at_rank((seat.state.rank + (shift ? ranks - 1 : 1)) % ranks);
  }
  if (pressed('k')) choices.tree = !choices.tree;
  if (pressed('v')) choices.overlap = !choices.overlap;
  if (pressed('c')) choices.cpp_names = !choices.cpp_names;
  if (pressed('d') && app.seats().size() > 1) {
    choices.compare = !choices.compare;
    app.go(app.seat().position);
  }
  if (key_pressed(Key::tab)) app.sit((app.current() + 1) % app.seats().size());
  if (pressed('z')) {
    Seat& seat = app.seat();
    const Event& event = seat.model->events[seat.state.event];
    const Step& step = seat.model->steps[seat.state.step];
    const double from = static_cast<double>(shift ? step.begin : event.ts);
    const double to = static_cast<double>(shift ? step.end : event.end());
    const double margin = std::max(50.0, (to - from) * 0.06);
    seat.timeline.from = from - margin;
    seat.timeline.to = to + margin;
  }
}

}  // namespace

void take_keys(App& app) {
  Choices& choices = app.choices;
  const Modifiers held = modifiers();
  if (key_pressed(Key::escape)) {
    choices.help = false;
    choices.tour = 0;
    choices.searching = false;
  }
  if (choices.searching || ImGui::GetIO().WantTextInput) return;
  const bool find = held.ctrl && pressed('f');
  if (find) choices.searching = true;
  if (held.ctrl || held.alt || held.super) return;
  if (pressed('/')) {
    if (held.shift)
      choices.help = !choices.help;
    else
      choices.searching = true;
  }
  if (pressed('n')) go_to_hit(app, !held.shift);
  if (pressed('t')) choices.dark = !choices.dark;
  if (choices.tour > 0 && key_pressed(Key::enter)) ++choices.tour;
  if (!app.has_trace()) return;
  play_keys(app);
  move_keys(app, held.shift);
  bookmark_keys(app, held.shift);
  view_keys(app, held.shift);
  timeline_keys(app);
}

}  // namespace lockstep::gui

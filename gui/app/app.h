// The viewer: the open traces, the current position, and the user's choices.
//
// `App::frame` draws it in any ImGui context with any renderer; it uses no threads,
// files or clocks. The caller reads `requested_file` and passes it to `begin_loading`.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gui/app/director.h"
#include "gui/app/quiz.h"
#include "gui/model/breakdown.h"
#include "gui/model/collectives.h"
#include "gui/model/loader.h"
#include "gui/model/lock_queue.h"
#include "gui/model/notes.h"
#include "gui/model/op_table.h"
#include "gui/model/state.h"
#include "gui/model/verdict.h"
#include "gui/model/why.h"
#include "gui/ui/ui.h"
#include "tracer/analysis/server_keys.h"

namespace lockstep::gui {

struct TimelineCache;
struct StepLanes;
struct WhatIfPanel;

/// The part of a trace that the timeline shows. Plain data that fully determines what
/// is drawn.
struct TimelineView {
  double from = 0, to = 0;  ///< ns at the left and right edges; equal if not set yet
  float scroll = 0;         ///< vertical scroll offset in points
  bool follow = true;       ///< keep the current position visible
  std::pair<int64_t, int64_t> selected{0,
                                       0};  ///< a selected time range; empty if equal
  std::vector<uint32_t> open;  ///< sorted groups of lanes shown at full depth

  /// The current mouse gesture, which ends when the button is released.
  enum class Drag : uint8_t { none, pan, scrub, select, overview, scrollbar };
  struct Gesture {
    Drag drag = Drag::none;
    bool moved = false;       ///< moved too far to be a click
    float x = 0, y = 0;       ///< where the button was pressed
    double from = 0, to = 0;  ///< the view at that time
    float scroll = 0;
  } gesture;

  /// The last position that the view followed.
  int64_t seen_time = INT64_MIN;
  uint32_t seen_event = UINT32_MAX;
  size_t seen_step = SIZE_MAX;

  size_t primitives = 0;  ///< rectangles, strings and lines in the last frame
  std::shared_ptr<TimelineCache> cache;  ///< computed from the Model alone
};

/// An open trace and the current position in it.
struct OpenTrace {
  std::unique_ptr<Model> model;
  Position position;
  State state;                     ///< at `position`
  Breakdown step;                  ///< of the step that contains `state`
  Breakdown mean;                  ///< of all steps
  size_t step_of = SIZE_MAX;       ///< the step that `step` describes
  int step_rank = 0;               ///< … and `mean`, at an own pace: of a rank
  std::shared_ptr<const Why> why;  ///< nullptr until it is computed
  std::vector<LockUse> lock;       ///< on a shared model; empty if there is none
  /// What each parameter server owns; empty if there are none.
  std::vector<tracer::OwnedParameters> owned;
  std::shared_ptr<const StepLanes> lanes;  ///< of step `lanes_of`, for comparing
  size_t lanes_of = SIZE_MAX;
  size_t segment = 0;  ///< of the longest path of `segment_step`: walked to
  size_t segment_step = SIZE_MAX;
  std::vector<CollectiveRow> collectives;  ///< of step and rank `collectives_of`
  std::pair<size_t, int> collectives_of{SIZE_MAX, 0};
  std::string exposed_by_step;  ///< of rank `exposed_of`
  int exposed_of = -1;
  CollectiveRow collective;  ///< the one that was last in focus
  TimelineView timeline;
  Director director;
  Quiz quiz;
  Verdict verdict;       ///< of `trace check`, computed when the trace was opened
  size_t violation = 0;  ///< the violation that the next jump goes to
  Notes notes;           ///< bookmarks, with or without words
  Notes notes_kept;      ///< as they were last read from the file or written to it
  bool notes_changed = false;   ///< they differ from the file; the caller saves them
  std::string notes_file;       ///< where they are kept; "" if not yet anywhere
  OpTable ops;                  ///< of the drawer
  bool problems_seen = false;   ///< the user dismissed the file's problems
  std::vector<CallEntry> tree;  ///< for step `tree_of` of one rank
  size_t tree_of = SIZE_MAX;
  int tree_rank = 0;
  std::set<uint32_t>
      tree_toggled;  ///< first events of entries that the user opened or closed
};

/// How playback maps time to events; real time is rarely useful, as most events last
/// only microseconds.
enum class Pace : uint8_t {
  director,  ///< the script of the step: see gui/model/script.h
  even,      ///< every event takes the same time
  real,      ///< real time, multiplied by `speed`
};

struct Transport {
  bool playing = false;
  bool loop = false;  ///< repeat the same training step
  Pace pace = Pace::director;
  float speed = 1;
};

/// What the user typed to open a file, and the files that it could mean, which the
/// caller looks up: the App reads no folders.
struct OpenField {
  bool shown = false;
  std::string typed;
  std::string listed;  ///< what `found` belongs to
  std::vector<std::string> found;
};

/// What the caller writes to disk; it reports back through `App::say`.
struct Export {
  bool picture = false;  ///< of the next frame
  std::string csv;       ///< a table; "" if none was asked for
};

/// A panel of the layout.
enum class Pane : uint8_t {
  none,
  calls,
  source,
  stage,
  drawer,
  times,
  ports,
  inspector,
  timeline,
};

/// What the drawer below the stage shows.
enum class Drawer : uint8_t { none, notes, table, hits, range, sliders };

/// The shares of the screen that the user gave to panels by moving splitters; 0 where
/// the layout decides.
struct Panes {
  float left = 0, right = 0;    ///< of the width
  float timeline = 0;           ///< of the height
  float calls = 0, drawer = 0;  ///< of their column's height
  float times = 0, ports = 0;   ///< of the right column's height
  bool operator==(const Panes&) const = default;
};

/// What of the viewer is drawn: all of it or, for a film, the stage with its caption,
/// and the numbers that end it.
enum class Cut : uint8_t { window, stage, numbers };

/// The user's settings, which do not depend on a trace.
struct Settings {
  bool dark = true;
  bool tree = false;       ///< show the step's call tree instead of the call stack
  bool overlap = false;    ///< show communication overlap instead of bytes by port
  bool cpp_names = false;  ///< show C++ names instead of PyTorch's
  bool help = false;       ///< show the overlay of keys
  bool compare = false;    ///< show all open traces side by side
  bool why = false;        ///< show "Why not 4x?" instead of the stage
  bool pipeline = false;   ///< show the pipeline's grid instead of either
  bool exposed = false;    ///< show which collective is exposed instead of the stage
  int tour = 0;            ///< current card of the first-run tour; 0 if none
  bool quiz = false;       ///< playing asks a question before a phase
  Transport transport;
  std::string search;
  bool searching = false;  ///< the search field has keyboard focus
  Panes panes;
  Pane enlarged = Pane::none;  ///< fills the room of all panels
  Drawer drawer = Drawer::none;
  int editing = -1;          ///< index of the note whose text has keyboard focus
  bool whole_trace = false;  ///< the table shows all steps instead of this one
  OpColumn sorted = OpColumn::total;
  bool reversed = false;  ///< the table is sorted the other way
  bool tracks = false;    ///< the timeline shows memory, busy devices, bytes per second
  Cut cut = Cut::window;
};

class App {
 public:
  explicit App(const Fonts& fonts) : fonts_(&fonts) {}

  /// Starts loading a trace; each call to `frame` loads another part. `text` is as in
  /// Loader; `owned`, if not null, keeps it alive. The trace is then shown, or, unless
  /// `shown`, gets a tab behind those that are open.
  void begin_loading(std::string name, std::string_view text,
                     std::shared_ptr<const void> owned, bool shown = true);
  /// Opens a trace that is already loaded, at its opening_position.
  void open(Model model);
  void fail(std::string message);  ///< shows an error on the start screen
  bool is_loading() const { return loader_ != nullptr; }
  bool is_settling() const;  ///< true while packets still move after a step
  void finish_loading();     ///< loads the rest; reports errors through `fail`

  /// Draws one frame, `seconds` after the previous one. Reads ImGui's input and draws
  /// into a window that fills `screen`.
  void frame(const Rect& screen, float seconds);

  bool has_trace() const { return !traces_.empty(); }
  std::vector<OpenTrace>& traces() { return traces_; }
  const std::vector<OpenTrace>& traces() const { return traces_; }
  OpenTrace& trace() { return traces_[current_]; }
  size_t current() const { return current_; }
  void select_trace(size_t trace) {
    current_ = trace;
    settings.editing = -1;  // a note of the trace before
  }

  /// Returns the model of a large trace that "Why not 4x?" needs analysed, or nullptr.
  /// The caller passes what `analyse` returns to `take_why`, with the model's
  /// `text.data()`.
  const Model* awaits_why();
  void take_why(const char* text, WhyAnalysis analysis);

  /// Moves to a position in the current trace, and moves compared traces accordingly.
  void go(const Position& position);
  void move(Move move);
  void go_to_violation();  ///< goes to the (next) event that breaks a law
  void close_trace(size_t index);
  /// Shows one line at the bottom of the screen for a few seconds.
  void say(std::string message);
  void focus_rank(int rank);  ///< goes to the same program point, or the same time

  Settings settings;
  std::vector<std::string> recent;  ///< recently opened files, newest first
  std::string requested_file;       ///< set when the user chooses a file
  OpenField opening;
  Export exports;
  std::string message;     ///< see `say`
  float message_left = 0;  ///< seconds
  /// The areas of the screen that the tour describes; set by the layout.
  std::array<Rect, 5> tour_places{};
  std::string error;  ///< why the last file could not be opened

  const Theme& theme() const { return settings.dark ? dark_theme() : light_theme(); }
  /// Returns one line for scripts: the position and the event there.
  std::string state_line();

 private:
  void refresh(OpenTrace& trace);
  /// Gives the notes that were just changed to other tabs of the same file.
  void share_notes();

  const Fonts* fonts_;
  std::vector<OpenTrace> traces_;
  size_t current_ = 0;
  std::unique_ptr<Loader> loader_;
  std::string loading_name_;
  bool loading_shown_ = true;

 public:
  std::shared_ptr<WhatIfPanel> what_if;  ///< see what_if.h; nullptr until it is opened
};

/// Returns a loaded trace with all that is computed when it is opened, at its
/// opening_position. May run on any thread.
OpenTrace opened_trace(Model model);

// ---- Playback

/// Events per second at an even pace and a speed of 1.
inline constexpr float kEvenRate = 4;

/// Returns the position after `seconds` of playback at an even pace or in real time.
/// Stops playback at the end of the trace.
Position played(const Model& model, const Position& from, Transport& transport,
                float seconds);

/// Halves or doubles the speed, between 1/1024 and 1024.
void change_speed(Transport& transport, bool faster);

/// Returns, for example, "1×" or "1/8×".
std::string speed_text(const Transport& transport);

// ---- The parts of `App::frame`

struct KeyHelp {
  const char* group;
  const char* keys;
  const char* what;
};

/// Sets a bookmark at the current position or, if there is one without words, removes
/// it.
void toggle_bookmark(App& app);
/// Sets a bookmark at the current position and starts editing its words.
void write_note(App& app);
/// Handles the keys with ctrl: open, copy, picture, table.
void command_keys(App& app, bool shift);
/// Returns a command line that opens this file at this position.
std::string command_line(const OpenTrace& trace);

/// Handles the key presses in ImGui's input.
void handle_keys(App& app);

const std::vector<KeyHelp>& key_help();
/// Returns that table as text, one key per line.
std::string key_table();

/// Draws the whole screen. `progress` is less than 1 while `loading` is being read.
void draw_screen(Ui& ui, const Rect& screen, App& app, double progress,
                 const std::string& loading);

/// Returns the position in `to` that corresponds to `position` in `from`. Matches steps
/// by index (the first with the first), then phases by name, then the relative position
/// within the phase. If `to` has no such phase (`single` has no `replicate`), returns
/// the end of the last preceding phase that both traces have.
Position aligned(const Model& from, const Position& position, const Model& to);

}  // namespace lockstep::gui

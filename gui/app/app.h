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

#include "gui/model/breakdown.h"
#include "gui/model/loader.h"
#include "gui/model/state.h"
#include "gui/model/why.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

struct TimelineCache;

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
  std::shared_ptr<const Why> why;  ///< nullptr until it is computed
  size_t segment = 0;              ///< of the longest path of `segment_step`: walked to
  size_t segment_step = SIZE_MAX;
  TimelineView timeline;
  std::vector<Position> bookmarks;
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
  even,  ///< every event takes the same time
  real,  ///< real time, multiplied by `speed`
};

struct Transport {
  bool playing = false;
  bool loop = false;  ///< repeat the same training step
  Pace pace = Pace::even;
  float speed = 1;
};

/// The user's settings, which do not depend on a trace.
struct Settings {
  bool dark = true;
  bool tree = false;       ///< show the step's call tree instead of the call stack
  bool overlap = false;    ///< show communication overlap instead of bytes by port
  bool cpp_names = false;  ///< show C++ names instead of PyTorch's
  bool help = false;       ///< show the overlay of keys
  bool compare = false;    ///< show all open traces side by side
  bool why = false;        ///< show "Why not 4x?" instead of the stage
  int tour = 0;            ///< current card of the first-run tour; 0 if none
  Transport transport;
  std::string search;
  bool searching = false;  ///< the search field has keyboard focus
};

class App {
 public:
  explicit App(const Fonts& fonts) : fonts_(&fonts) {}

  /// Starts loading a trace; each call to `frame` loads another part. `text` is as in
  /// Loader; `owned`, if not null, keeps it alive.
  void begin_loading(std::string name, std::string_view text,
                     std::shared_ptr<const void> owned);
  /// Opens a trace that is already loaded: at its first step or, if the recorded run
  /// failed, at the failing call.
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
  OpenTrace& trace() { return traces_[current_]; }
  size_t current() const { return current_; }
  void select_trace(size_t trace) { current_ = trace; }

  /// Returns the model of a large trace that "Why not 4x?" needs analysed, or nullptr.
  /// The caller passes what `analyse` returns to `take_why`, with the model's
  /// `text.data()`.
  const Model* awaits_why();
  void take_why(const char* text, WhyAnalysis analysis);

  /// Moves to a position in the current trace, and moves compared traces accordingly.
  void go(const Position& position);
  void move(Move move);
  void focus_rank(int rank);  ///< goes to the same program point, or the same time

  Settings settings;
  std::vector<std::string> recent;  ///< recently opened files, newest first
  std::string requested_file;       ///< set when the user chooses one of `recent`
  /// The areas of the screen that the tour describes; set by the layout.
  std::array<Rect, 5> tour_places{};
  std::string error;  ///< why the last file could not be opened

  const Theme& theme() const { return settings.dark ? dark_theme() : light_theme(); }
  /// Returns one line for scripts: the position and the event there.
  std::string state_line();

 private:
  void refresh(OpenTrace& trace);

  const Fonts* fonts_;
  std::vector<OpenTrace> traces_;
  size_t current_ = 0;
  std::unique_ptr<Loader> loader_;
  std::string loading_name_;
};

// ---- Playback

/// Events per second at an even pace and a speed of 1.
inline constexpr float kEvenRate = 4;

/// Returns the position after `seconds` of playback. Stops playback at the end of the
/// trace.
Position played(const Model& model, const Position& from, Transport& transport,
                float seconds);

/// Halves or doubles the speed, between 1/1024 and 1024.
void change_speed(Transport& transport, bool faster);

/// Returns "1×" or "1/8×".
std::string speed_text(const Transport& transport);

// ---- The parts of `App::frame`

struct KeyHelp {
  const char* group;
  const char* keys;
  const char* what;
};

/// Handles the key presses in ImGui's input.
void handle_keys(App& app);

const std::vector<KeyHelp>& key_help();

/// Draws the whole screen. `progress` is less than 1 while `loading` is being read.
void draw_screen(Ui& ui, const Rect& screen, App& app, double progress,
                 const std::string& loading);

/// Returns the position in `to` that corresponds to `position` in `from`. Matches steps
/// by index (the first with the first), then phases by name, then the relative position
/// within the phase. If `to` has no such phase (`single` has no `replicate`), returns
/// the end of the last preceding phase that both traces have.
Position aligned(const Model& from, const Position& position, const Model& to);

}  // namespace lockstep::gui

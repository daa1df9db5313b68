// The viewer: the open traces, the current position, and the user's choices.
//
// `frame` draws it in any ImGui context with any renderer; it has no threads, files or
// clocks. Files come in through `begin_loading`; `requested_file` requests one.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gui/app/transport.h"
#include "gui/model/breakdown.h"
#include "gui/model/call_tree.h"
#include "gui/model/loader.h"
#include "gui/model/state.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

struct TimelineCache;

/// The part of a trace that the timeline shows. Plain data: a frame is a function of
/// it.
struct TimelineView {
  double from = 0, to = 0;  ///< ns at the left and right edge; equal: not set yet
  float scroll = 0;         ///< points scrolled down
  bool follow = true;       ///< keep the position in sight
  std::pair<int64_t, int64_t> selected{0,
                                       0};  ///< a selected time range; empty if equal
  std::vector<uint32_t> open;  ///< sorted groups of lanes shown in full depth

  /// The mouse gesture until its button is released.
  enum class Drag : uint8_t { none, pan, scrub, select, overview, scrollbar };
  struct Gesture {
    Drag drag = Drag::none;
    bool moved = false;       ///< too far for a click
    float x = 0, y = 0;       ///< where the button went down
    double from = 0, to = 0;  ///< the view at that moment
    float scroll = 0;
  } gesture;

  /// The position that the view followed last.
  int64_t seen_time = INT64_MIN;
  uint32_t seen_event = UINT32_MAX;

  size_t primitives = 0;  ///< rectangles, texts and lines in the last frame
  std::shared_ptr<TimelineCache> cache;  ///< computed from the Model alone
};

/// An open trace and the position in it.
struct OpenTrace {
  std::unique_ptr<Model> model;
  Position position;
  State state;                ///< of `position`
  Breakdown step;             ///< of the step that `state` is in
  Breakdown mean;             ///< of all steps
  size_t step_of = SIZE_MAX;  ///< the step that `step` describes
  TimelineView timeline;
  std::vector<Position> bookmarks;
  bool problems_seen = false;   ///< the user dismissed the file's problems
  std::vector<CallEntry> tree;  ///< of the step `tree_of` of one rank
  size_t tree_of = SIZE_MAX;
  int tree_rank = 0;
  std::set<uint32_t>
      tree_toggled;  ///< first events of entries that the user opened or closed
};

/// The user's choices; none depends on a trace.
struct Settings {
  bool dark = true;
  bool tree = false;       ///< the step's call tree in place of the call stack
  bool overlap = false;    ///< computation and communication in place of bytes by port
  bool cpp_names = false;  ///< C++ names in place of PyTorch's
  bool help = false;       ///< the overlay of keys
  bool compare = false;    ///< all open traces side by side
  int tour = 0;            ///< the card of the first-run tour; 0: none
  Transport transport;
  std::string search;
  bool searching = false;  ///< the search field has the keyboard
};

class App {
 public:
  explicit App(const Fonts& fonts) : fonts_(&fonts) {}

  /// Starts loading a trace; `frame` continues it slice by slice. `text` is as in
  /// Loader; `owned`, if given, keeps it alive.
  void begin_loading(std::string name, std::string_view text,
                     std::shared_ptr<const void> owned);
  /// Opens a trace that is already loaded.
  void open(Model model);
  void fail(std::string message);  ///< shows an error on the start screen
  bool is_loading() const { return loader_ != nullptr; }
  bool is_settling() const;  ///< movement after a step has not ended
  void finish_loading();     ///< loads at once; errors go to `fail`

  /// Draws one frame, `seconds` after the last one. Reads ImGui's input and draws into
  /// a window that fills `screen`.
  void frame(const Rect& screen, float seconds);

  bool has_trace() const { return !traces_.empty(); }
  std::vector<OpenTrace>& traces() { return traces_; }
  OpenTrace& trace() { return traces_[current_]; }
  size_t current() const { return current_; }
  void select_trace(size_t trace) { current_ = trace; }

  /// Goes to a position in the current trace; compared traces follow.
  void go(const Position& position);
  void move(Move move);
  void focus_rank(int rank);  ///< same point of its program, or same time

  Settings settings;
  std::vector<std::string> recent;  ///< files opened before, newest first
  std::string requested_file;       ///< set when the user requests one of `recent`
  /// The screen areas that the tour describes; set by the layout.
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

// ---- What `App::frame` consists of

struct KeyHelp {
  const char* group;
  const char* keys;
  const char* what;
};

/// Handles the keys in ImGui's input.
void handle_keys(App& app);

const std::vector<KeyHelp>& key_help();

/// Draws the whole screen. `progress` is below 1 while `loading` is being read.
void draw_screen(Ui& ui, const Rect& screen, App& app, double progress,
                 const std::string& loading);

/// The place in one trace that corresponds to a place in the other: by the step's place
/// in its trace (the first with the first), then by phase, then by how far the position
/// is within that phase. Where the other trace has no such phase
/// (`single` has no `replicate`) it waits at the end of the last one that both have.
Position aligned(const Model& from, const Position& position, const Model& to);

}  // namespace lockstep::gui

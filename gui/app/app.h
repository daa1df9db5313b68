// The viewer: what is open, where we are in it, and what the person chose to see.
//
// It is drawn by `frame`, in any ImGui context, by any renderer; it has no threads,
// files or clocks of its own. Files come in through `begin_loading`; a wish to open one
// goes out through `requested_file`.
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

/// What part of a trace the timeline shows. Plain data, so that a picture is a function
/// of it.
struct TimelineView {
  double from = 0, to = 0;  ///< ns at the left and right edge; equal: not chosen yet
  float scroll = 0;         ///< points scrolled down
  bool follow = true;       ///< keep the position in sight
  std::pair<int64_t, int64_t> selected{0, 0};  ///< a range of time; empty when equal
  std::vector<uint32_t> open;  ///< groups of lanes shown in full depth, sorted

  /// What the mouse does until its button goes up.
  enum class Drag : uint8_t { none, pan, scrub, select, overview, scrollbar };
  struct Gesture {
    Drag drag = Drag::none;
    bool moved = false;       ///< far enough to be no click
    float x = 0, y = 0;       ///< where the button went down
    double from = 0, to = 0;  ///< the view at that moment
    float scroll = 0;
  } gesture;

  /// The position that the view last followed.
  int64_t seen_time = INT64_MIN;
  uint32_t seen_event = UINT32_MAX;

  size_t primitives = 0;  ///< rectangles, texts and lines in the last picture
  std::shared_ptr<TimelineCache> cache;  ///< computed from the Model alone
};

/// One open trace and the place in it.
struct OpenTrace {
  std::unique_ptr<Model> model;
  Position position;
  State state;                ///< of `position`
  Breakdown step;             ///< of the step that `state` is in
  Breakdown mean;             ///< of all steps
  size_t step_of = SIZE_MAX;  ///< the step that `step` is of
  TimelineView timeline;
  std::vector<Position> bookmarks;
  bool problems_seen = false;   ///< what is wrong with the file was read and put away
  std::vector<CallEntry> tree;  ///< of the step `tree_of` of one rank
  size_t tree_of = SIZE_MAX;
  int tree_rank = 0;
  std::set<uint32_t>
      tree_toggled;  ///< first events of entries opened or closed by hand
};

/// What the person chose; nothing here depends on a trace.
struct Settings {
  bool dark = true;
  bool tree = false;       ///< the step's call tree in place of the calls around here
  bool overlap = false;    ///< computing and communicating in place of bytes by port
  bool cpp_names = false;  ///< C++ names in place of PyTorch's
  bool help = false;       ///< the overlay that lists the keys
  bool compare = false;    ///< all open traces side by side
  int tour = 0;            ///< which card of the first-run tour; 0: none
  Transport transport;
  std::string search;
  bool searching = false;  ///< the search line has the keyboard
};

class App {
 public:
  explicit App(const Fonts& fonts) : fonts_(&fonts) {}

  /// Starts to load a trace; `frame` goes on with it, a slice at a time. `text` is as
  /// Loader wants it, and is kept alive by `owned` if that is given.
  void begin_loading(std::string name, std::string_view text,
                     std::shared_ptr<const void> owned);
  /// Opens a trace that is already a Model.
  void open(Model model);
  void fail(std::string message);  ///< shows what went wrong, in the start screen
  bool is_loading() const { return loader_ != nullptr; }
  bool is_settling() const;  ///< something still moves after a step
  void finish_loading();     ///< all at once; errors go to `fail`

  /// One frame, `seconds` after the last one. Reads ImGui's input, draws into a window
  /// that fills `screen`.
  void frame(const Rect& screen, float seconds);

  bool has_trace() const { return !traces_.empty(); }
  std::vector<OpenTrace>& traces() { return traces_; }
  OpenTrace& trace() { return traces_[current_]; }
  size_t current() const { return current_; }
  void select_trace(size_t trace) { current_ = trace; }

  /// Goes to a place of the current trace; the others follow when they are compared.
  void go(const Position& position);
  void move(Move move);
  void focus_rank(int rank);  ///< the same point of its program, or the same time

  Settings settings;
  std::vector<std::string> recent;  ///< files opened before, newest first
  std::string requested_file;       ///< set when the person asks for one of `recent`
  /// Where the parts of the screen are that the tour speaks of; the layout says.
  std::array<Rect, 5> tour_places{};
  std::string error;  ///< of the last file that could not be opened

  const Theme& theme() const { return settings.dark ? dark_theme() : light_theme(); }
  /// One line for scripts: the place and what stands there.
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

/// Reads ImGui's keyboard and does what the keys say.
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

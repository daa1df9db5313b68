// Types and functions shared by the parts of the timeline.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gui/app/app.h"
#include "gui/model/lod.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Converts between time and screen coordinates.
struct Scale {
  double from = 0, to = 1;  ///< ns
  float x = 0, w = 1;       ///< points
  double per_point() const { return (to - from) / static_cast<double>(w); }
  float at(double ns) const {
    const double place = static_cast<double>(x) + (ns - from) / per_point();
    return static_cast<float>(std::clamp(place, -1e5, 1e5));
  }
  double ns(float place) const {
    return from + static_cast<double>(place - x) * per_point();
  }
};

/// One lane on the screen; each row of the lane occupies one line.
struct Strip {
  enum class Role : uint8_t { host, thread, mini, head, stream, track };
  enum class Track : uint8_t { busy, memory, port };
  Role role = Role::stream;
  bool is_open = false;
  bool folded = false;        ///< represents its whole rank
  uint16_t rows = 1;          ///< number of visible rows
  uint16_t depth = 1;         ///< total number of rows
  Track track = Track::busy;  ///< what a track shows; of the device of `lane`
  uint32_t lane = 0;
  uint32_t group = 0;    ///< toggled by a click on the label
  uint32_t members = 1;  ///< for head and first mini: number of threads in the group
  float y = 0;           ///< top edge, relative to the first strip
  float row_height = 18, pitch = 19;
  float height() const { return pitch * static_cast<float>(rows); }
};

struct LaneLayout {
  std::vector<Strip> strips;            ///< from top to bottom
  std::vector<uint32_t> strip_of_lane;  ///< UINT32_MAX if not shown
  /// Where rows start, in ascending order, and `height`. A folded group of threads is
  /// one.
  std::vector<float> row_starts;
  float height = 0;
  /// Returns the range [first, last) of strips that touch [top, bottom].
  std::pair<size_t, size_t> between(float top, float bottom) const;
};

inline constexpr uint32_t kThreadsOfRank = 1u << 31;  ///< group; the rank is added
inline constexpr uint32_t kWholeRank = 1u << 30;      ///< group; the rank is added

/// Returns the most spacious layout that fits into a height of `room` points. If not
/// all ranks fit, rank `focus` comes first, and each of the others is collapsed to the
/// computation and communication of its devices. If none fits, returns the most
/// spacious one with four devices in `room`, else the most compact one. `tracks`: adds
/// the tracks of each device that has streams, and above all lanes that of the busy
/// devices.
LaneLayout lay_out(const Model& model, const Lod& lod,
                   const std::vector<uint32_t>& open, float room, int focus = -1,
                   bool tracks = false);

inline constexpr size_t kMostListed = 100'000;

/// The positions in the Lod whose events match the search.
struct SearchHits {
  std::string needle;
  std::string error;             ///< what is wrong with it, as a sentence
  size_t count = 0;              ///< of all events that match
  std::vector<uint32_t> events;  ///< the first kMostListed of them, in time order
  std::vector<uint64_t> bits;
  std::vector<uint32_t> before;  ///< number of hits before each word of `bits`
  size_t rank(size_t place) const;
};
SearchHits find_hits(const Model& model, const Lod& lod, const std::string& needle);

/// A curve between two events, and the reason for it.
struct Flow {
  enum class Why : uint8_t { caused, waited, forward };
  Why why = Why::caused;
  uint32_t from = 0, to = 0;
};
std::vector<Flow> flows_of(const Model& model, uint32_t event);

struct ShortName {
  std::string text;
  float width = 0;
};
/// Maps "aten::conv2d" to "conv2d", and "ConvolutionBackward0" to "← Convolution".
std::string short_name(std::string_view name);

struct OverviewColumn {
  float busy = 0;  ///< mean over the lanes examined, 0 … 1
  EventClass look = 0;
};

struct TrackSeries;  // timeline_tracks.h

/// Data computed from the Model alone; it can be discarded at any time.
struct TimelineCache {
  explicit TimelineCache(const Model& model)
      : model(&model), lod(build_lod(model)), ranks(model.ranks()) {}
  const Model* model;
  Lod lod;
  int ranks = 1;
  Rect axis, labels, plot, overview;  ///< positions in the previous frame
  float top = 0;                      ///< what the plot started with in it
  LaneLayout layout;
  std::vector<uint32_t> layout_open;
  float layout_room = -1;
  int layout_focus = -1;
  bool layout_tracks = false;
  SearchHits hits;
  std::vector<OverviewColumn> columns;
  uint32_t flows_event = kNoEvent;
  std::vector<Flow> flows;
  std::unordered_map<uint32_t, ShortName> names;
  /// What `queued_before` returned for an event, at the event's number modulo the size:
  /// a map of all events that were ever shown would not fit into the processor's
  /// caches.
  struct Queued {
    uint32_t event = kNoEvent;
    int64_t ns = 0;
  };
  std::vector<Queued> queued{size_t{1} << 14};
  /// By host lane: the waits of its thread, in order of time.
  std::unordered_map<uint32_t, std::vector<uint32_t>> host_waits;
  std::pair<int64_t, int64_t> stats_range{0, 0};
  std::vector<std::string> stats;
  std::shared_ptr<TrackSeries> tracks;  ///< nullptr until tracks are shown
  double port_scale = 1;  ///< bytes per second: the height of a port's track
  std::optional<std::string>
      marks;  ///< what the devices' marks are; "": there are none
};

struct TimelineFrame {
  const Ui& ui;
  App& app;
  OpenTrace& trace;
  const Model& model;
  TimelineView& view;
  TimelineCache& cache;
  Rect axis, labels, plot, overview;
  ImVec2 mouse{};
  float room = 0;        ///< height for the lanes; `plot` ends after the last whole row
  float top = 0;         ///< what the plot starts with: view.scroll, or the next row
  Rect toggle;           ///< the switch of the tracks, in the title bar
  bool hovered = false;  ///< the mouse is over the card and nothing covers it
  std::array<ImU32, 256> colours{};  ///< by event class

  Scale scale() const { return {view.from, view.to, plot.x, plot.w}; }
  float top_of(const Strip& strip) const { return plot.y + strip.y - top; }
  void count(size_t primitives) const { view.primitives += primitives; }
  const ShortName& name_of(const Event& event);
  int64_t queued_before(uint32_t event);  ///< ns
  const std::vector<uint32_t>& host_waits(uint32_t lane);
};

// ---- Time: the origin of the axis, and number formats

struct Origin {
  int64_t ns = 0;
  std::string name;  ///< "step 2", "the trace"
};
Origin origin_of(const TimelineFrame& frame);
void draw_axis(const TimelineFrame& frame);
void draw_grid(const TimelineFrame& frame);
std::string axis_note(const TimelineFrame& frame);
std::string grouped(int64_t value);  ///< "1,234,567"
std::string exact_time(int64_t ns);  ///< "312.345 678 ms"

// ---- Lanes

void draw_lanes(TimelineFrame& frame);
void draw_labels(const TimelineFrame& frame);
/// Returns the strip at a point on the screen, or nullptr, and sets `depth`.
const Strip* strip_at(const TimelineFrame& frame, ImVec2 point, uint32_t& depth);
uint32_t event_below(const TimelineFrame& frame, ImVec2 point);
/// The position of an event on the screen, at the depth to which its lane is expanded.
struct Place {
  float x0 = 0, x1 = 0, y = 0, height = 0;
  bool shown = false;  ///< the lane is laid out
  bool exact = false;  ///< its own row is visible
  float middle() const { return y + height / 2; }
};
Place place_of(const TimelineFrame& frame, uint32_t event);

// ---- On top of the lanes

void draw_ghost(const TimelineFrame& frame);  ///< of the recorded step: what_if.h
/// Returns what the stream at a point waits for, of the sliders' program; else "".
std::string gap_below(const TimelineFrame& frame, ImVec2 point);
void draw_current(const TimelineFrame& frame);
void draw_flows(const TimelineFrame& frame);
void draw_path(const TimelineFrame& frame);  ///< while "Why not 4x?" is shown
void draw_playhead(const TimelineFrame& frame);
void draw_selection(const TimelineFrame& frame);
void draw_notes(const TimelineFrame& frame);
/// Draws what stripes and marks on the devices' lanes mean, between `x0` and `x1` of
/// the title bar; leaves out, from the end, what does not fit.
void draw_legend(const TimelineFrame& frame, float x0, float x1, float y);
void draw_hover(const TimelineFrame& frame);
void draw_overview(const TimelineFrame& frame);
void draw_scrollbar(const TimelineFrame& frame);
/// Returns a Ui that draws on top of everything else.
Ui floating(const Ui& ui);

/// Returns a summary of what ran in a time range, one string per line. The cost does
/// not depend on the length of the range.
std::vector<std::string> range_lines(const Model& model, const Lod& lod, int64_t t0,
                                     int64_t t1);

// ---- Input

void handle_mouse(TimelineFrame& frame);
void follow_position(const TimelineFrame& frame);
/// Clamps the view to the trace, and the zoom to at most 20 points per ns.
void clamp_view(const Model& model, TimelineView& view, float width);
void zoom(const Model& model, TimelineView& view, float width, double around,
          double factor);
void show_step(const Model& model, size_t step, TimelineView& view);

}  // namespace lockstep::gui

// Shared by the parts of the timeline while one frame is drawn.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gui/app/app.h"
#include "gui/model/lod.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Converts between time and screen.
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

/// One lane on the screen, one line per row.
struct Strip {
  enum class Role : uint8_t { host, thread, mini, head, stream };
  Role role = Role::stream;
  bool is_open = false;
  bool folded = false;  ///< stands for its whole rank
  uint16_t rows = 1;    ///< visible
  uint16_t depth = 1;   ///< in total
  uint32_t lane = 0;
  uint32_t group = 0;    ///< toggled by a click on the label
  uint32_t members = 1;  ///< head and first mini: threads in the group
  float y = 0;           ///< top edge, relative to the first strip
  float row_height = 18, pitch = 19;
  float height() const { return pitch * static_cast<float>(rows); }
};

struct LaneLayout {
  std::vector<Strip> strips;            ///< from top to bottom
  std::vector<uint32_t> strip_of_lane;  ///< UINT32_MAX: not shown
  float height = 0;
  /// Returns the range [first, last) of strips that touch [top, bottom].
  std::pair<size_t, size_t> between(float top, float bottom) const;
};

inline constexpr uint32_t kThreadsOfRank = 1u << 31;  ///< group, plus the rank
inline constexpr uint32_t kWholeRank = 1u << 30;      ///< group, plus the rank

/// Returns the roomiest layout that fits into `room` points of height. If not all ranks
/// fit, `focus` comes first and the others are folded to their devices' computation and
/// communication.
LaneLayout lay_out(const Model& model, const Lod& lod,
                   const std::vector<uint32_t>& open, float room, int focus = -1);

/// Positions in the Lod whose events match the search.
struct SearchHits {
  std::string needle;
  std::vector<uint64_t> bits;
  std::vector<uint32_t> before;  ///< hits before each word
  size_t rank(size_t place) const;
};
SearchHits find_hits(const Model& model, const Lod& lod, const std::string& needle);
/// Returns, for each name, whether it contains `needle`, ignoring case.
std::vector<uint8_t> matching_names(const Model& model, const std::string& needle);

/// A curve between two events, and its reason.
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
/// "aten::conv2d" → "conv2d", "ConvolutionBackward0" → "← Convolution"
std::string short_name(std::string_view name);

struct OverviewColumn {
  float busy = 0;  ///< mean over the devices, 0 … 1
  EventClass look = 0;
};

/// Computed from the Model alone, so it can be discarded at any time.
struct TimelineCache {
  explicit TimelineCache(const Model& model)
      : model(&model), lod(build_lod(model)), ranks(model.ranks()) {}
  const Model* model;
  Lod lod;
  int ranks = 1;
  Rect axis, labels, plot, overview;  ///< positions in the last frame
  LaneLayout layout;
  std::vector<uint32_t> layout_open;
  float layout_room = -1;
  int layout_focus = -1;
  SearchHits hits;
  std::vector<OverviewColumn> columns;
  uint32_t flows_event = kNoEvent;
  std::vector<Flow> flows;
  std::unordered_map<uint32_t, ShortName> names;
  std::pair<int64_t, int64_t> stats_range{0, 0};
  std::vector<std::string> stats;
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
  bool hovered = false;  ///< the mouse is over the card and nothing covers it
  std::array<ImU32, 256> colours{};  ///< by class

  Scale scale() const { return {view.from, view.to, plot.x, plot.w}; }
  float top_of(const Strip& strip) const { return plot.y + strip.y - view.scroll; }
  void count(size_t primitives) const { view.primitives += primitives; }
  const ShortName& name_of(const Event& event);
};

// ---- Time: the axis's origin and number formats

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
/// Returns the strip at a point of the screen and the depth there, or nullptr.
const Strip* strip_at(const TimelineFrame& frame, ImVec2 point, uint32_t& depth);
uint32_t event_below(const TimelineFrame& frame, ImVec2 point);
/// An event's position on the screen, at the depth to which its lane is open.
struct Place {
  float x0 = 0, x1 = 0, y = 0, height = 0;
  bool shown = false;  ///< the lane is laid out
  bool exact = false;  ///< its row is visible, too
  float middle() const { return y + height / 2; }
};
Place place_of(const TimelineFrame& frame, uint32_t event);

// ---- On top of the lanes

void draw_current(const TimelineFrame& frame);
void draw_flows(const TimelineFrame& frame);
void draw_playhead(const TimelineFrame& frame);
void draw_selection(const TimelineFrame& frame);
void draw_hover(const TimelineFrame& frame);
void draw_overview(const TimelineFrame& frame);
void draw_scrollbar(const TimelineFrame& frame);
/// Returns a Ui that draws over everything else.
Ui floating(const Ui& ui);

/// Returns what ran in a range of time, one line each. The cost does not depend on the
/// length.
std::vector<std::string> range_lines(const Model& model, const Lod& lod, int64_t t0,
                                     int64_t t1);

// ---- Input

void handle_mouse(TimelineFrame& frame);
void follow_position(const TimelineFrame& frame);
/// Clamps the view to the trace and to at least 1 ns per 20 points.
void clamp_view(const Model& model, TimelineView& view, float width);
void zoom(const Model& model, TimelineView& view, float width, double around,
          double factor);
void show_step(const Model& model, size_t step, TimelineView& view);

}  // namespace lockstep::gui

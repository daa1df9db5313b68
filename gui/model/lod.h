// Level of detail: what a lane looks like from afar, without looking at every event.
//
// A *row* is the events of one lane at one depth; they do not overlap (but for depth
// kMaxRow). Over each row stands a pyramid: a node sums up 10 events, a node above it 8
// nodes, and so on. A query walks down from the top and stops where a node is no longer
// than the eye can tell. So it costs what it returns, however many events there are.
//
// It is a pure function of the Model and takes about 6.7 bytes per event.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

/// Events that look alike share a class: kind, and phase, reason or, for kernels, phase
/// and whether they are the heavy arithmetic.
using EventClass = uint8_t;

/// Some events of a row, or one, that are to be drawn as one rectangle.
struct Span {
  int64_t begin = 0, end = 0;     ///< ns: of the first, and the latest
  uint32_t first = 0, count = 0;  ///< places in the row
  float busy = 0;                 ///< ns in which one of them ran
  EventClass look = 0;            ///< of what takes most of the time
  int64_t length() const { return end - begin; }
  float density() const {
    return end > begin ? busy / static_cast<float>(end - begin) : 1.0f;
  }
};

/// What queries may still cost, all together.
struct LodBudget {
  size_t spans = SIZE_MAX;   ///< returned
  size_t visits = SIZE_MAX;  ///< nodes looked at; an event counts for three
};

class Lod {
 public:
  /// Appends the spans of a row that touch [t0, t1], by time. Together they cover every
  /// event there; events closer than `resolution` ns that are shorter than that are
  /// merged, and no span reaches further than that beyond its events. Stops when the
  /// budget is used up, and then returns false.
  bool spans(const Model& model, uint32_t lane, uint32_t depth, int64_t t0, int64_t t1,
             int64_t resolution, std::vector<Span>& out, LodBudget& budget) const;

  /// The events of a row, by time.
  std::span<const uint32_t> row(uint32_t lane, uint32_t depth) const;

  /// All rows, one behind the other; `row` is a part of it.
  std::span<const uint32_t> places() const { return index_; }

  /// How many rows a lane has, those that hold marks only included.
  uint32_t depth(uint32_t lane) const;

  /// The event of a row that runs at `ts`, otherwise the nearest within `reach` ns,
  /// otherwise kNoEvent.
  uint32_t event_at(const Model& model, uint32_t lane, uint32_t depth, int64_t ts,
                    int64_t reach) const;

  /// ns between t0 and t1 in which the row's events ran, to 0.01 %.
  double busy(const Model& model, uint32_t lane, uint32_t depth, int64_t t0,
              int64_t t1) const;

  /// One event of each class, by which its colour is found.
  const std::vector<uint32_t>& examples() const { return examples_; }
  EventClass look_of(const Model& model, uint32_t event) const;
  /// A kernel that multiplies matrices (convolution, linear).
  bool is_heavy(EventClass look) const { return heavy_[look]; }

  size_t bytes() const;

 private:
  friend class LodBuilder;

  /// What 10 events, or 8 nodes below it, come to.
  struct Node {
    uint64_t begin : 48;
    uint64_t busy : 16;  ///< share of its length, of 65535
    uint64_t end : 48;
    uint64_t look : 8;
    /// Over events: how many stand before the widest gap. Many nodes that are long at
    /// all are long because of one gap, and need not be opened.
    uint64_t before_gap : 7;
    uint64_t after_leads : 1;  ///< what is behind the gap takes more of the time
    uint64_t gap_from : 28;    ///< from `begin`, in units of 1 << gap_shift()
    uint64_t gap_to : 28;
    uint64_t look_after : 8;  ///< behind the gap; `look` is before it
    EventClass mostly() const {
      return static_cast<EventClass>(after_leads ? look_after : look);
    }
    int64_t length() const { return static_cast<int64_t>(end - begin); }
    double busy_ns() const;
    int gap_shift() const;
  };
  static_assert(sizeof(Node) == 24);

  struct Row {
    uint32_t first = 0, count = 0;  ///< in index_
    uint32_t nodes = 0;  ///< in nodes_: those over events first, the top last
  };
  /// The pyramid of one row, as it is walked.
  struct Pyramid {
    explicit Pyramid(const Row& row);
    uint32_t first[12], count[12];  ///< nodes of each level
    int top = -1;
  };
  struct Walk;
  const Row* row_of(uint32_t lane, uint32_t depth) const;

  std::vector<uint32_t> lanes_;  ///< first row of each lane, and one past the last
  std::vector<Row> rows_;
  std::vector<uint32_t> index_;  ///< events, row by row
  std::vector<Node> nodes_;
  std::vector<uint32_t> examples_;                    ///< by class
  std::vector<bool> heavy_;                           ///< by class
  std::vector<uint8_t> heavy_names_;                  ///< by name
  std::unordered_map<uint64_t, EventClass> classes_;  ///< by what they share
};

inline constexpr uint32_t kLodLeaf = 10;   ///< events per node
inline constexpr uint32_t kLodFanOut = 8;  ///< nodes per node above

Lod build_lod(const Model& model);

}  // namespace lockstep::gui

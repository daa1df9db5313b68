// Level of detail: summarises a zoomed-out lane without visiting every event.
//
// A *row* holds the events of one lane at one depth; they do not overlap (except at
// depth kMaxRow). Each row has a pyramid: a node summarises 10 events, a node above it
// 8 nodes, and so on. A query descends from the top and stops at nodes too short to
// be distinguished on screen, so its cost depends on its output, not the event count.
//
// A pure function of the Model that takes about 6.7 bytes per event.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

/// Events that are drawn alike share a class: the same kind and, where relevant, phase,
/// reason or, for kernels, phase and whether they do the heavy arithmetic.
using EventClass = uint8_t;

/// One or more events of a row that are drawn as one rectangle.
struct Span {
  int64_t begin = 0, end = 0;     ///< ns: start of the first event, latest end
  uint32_t first = 0, count = 0;  ///< indices into the row
  float busy = 0;                 ///< ns during which an event ran
  EventClass look = 0;            ///< class that takes most of the time
  int64_t length() const { return end - begin; }
  float density() const {
    return end > begin ? busy / static_cast<float>(end - begin) : 1.0f;
  }
};

/// The remaining cost that queries may incur in total.
struct LodBudget {
  size_t spans = SIZE_MAX;   ///< spans that may be returned
  size_t visits = SIZE_MAX;  ///< nodes that may be visited; an event counts as three
};

class Lod {
 public:
  /// Appends the spans of a row that touch [t0, t1], in time order. Together they cover
  /// every event there. Merges events that are shorter than `resolution` ns and closer
  /// together than that; no span extends further than that beyond its events. Stops and
  /// returns false once the budget is used up.
  bool spans(const Model& model, uint32_t lane, uint32_t depth, int64_t t0, int64_t t1,
             int64_t resolution, std::vector<Span>& out, LodBudget& budget) const;

  /// Returns the events of a row in time order.
  std::span<const uint32_t> row(uint32_t lane, uint32_t depth) const;

  /// Returns all rows, concatenated; `row` returns a subrange.
  std::span<const uint32_t> places() const { return index_; }

  /// Returns the number of rows of a lane, including a row that holds only marks.
  uint32_t depth(uint32_t lane) const;

  /// Returns the event of a row that runs at `ts`, else the nearest within `reach` ns,
  /// else kNoEvent.
  uint32_t event_at(const Model& model, uint32_t lane, uint32_t depth, int64_t ts,
                    int64_t reach) const;

  /// Returns the time between t0 and t1 in which the row's events ran, in ns, to within
  /// 0.01 %.
  double busy(const Model& model, uint32_t lane, uint32_t depth, int64_t t0,
              int64_t t1) const;

  /// Returns one event of each class, from which its colour is derived.
  const std::vector<uint32_t>& examples() const { return examples_; }
  EventClass look_of(const Model& model, uint32_t event) const;
  /// Returns true for kernels that multiply matrices (convolution, linear).
  bool is_heavy(EventClass look) const { return heavy_[look]; }

  size_t bytes() const;

 private:
  friend class LodBuilder;

  /// Summary of 10 events, or of 8 nodes one level below.
  struct Node {
    uint64_t begin : 48;
    uint64_t busy : 16;  ///< fraction of its length, in units of 1/65535
    uint64_t end : 48;
    uint64_t look : 8;
    /// For nodes over events: number of events before the widest gap. Many long nodes
    /// are long only because of one gap, and need not be expanded.
    uint64_t before_gap : 7;
    uint64_t after_leads : 1;  ///< the part after the gap takes more of the time
    uint64_t gap_from : 28;    ///< offset from `begin`, in units of 1 << gap_shift()
    uint64_t gap_to : 28;
    uint64_t look_after : 8;  ///< after the gap; `look` is before it
    EventClass mostly() const {
      return static_cast<EventClass>(after_leads ? look_after : look);
    }
    int64_t length() const { return static_cast<int64_t>(end - begin); }
    double busy_ns() const;
    int gap_shift() const;
  };
  static_assert(sizeof(Node) == 24);

  struct Row {
    uint32_t first = 0, count = 0;  ///< range in index_
    uint32_t nodes = 0;  ///< in nodes_: those over events first, the root last
  };
  /// The pyramid of one row, laid out for traversal.
  struct Pyramid {
    explicit Pyramid(const Row& row);
    uint32_t first[12], count[12];  ///< nodes of each level
    int top = -1;
  };
  struct Walk;
  const Row* row_of(uint32_t lane, uint32_t depth) const;

  std::vector<uint32_t> lanes_;  ///< first row of each lane, then one past the last row
  std::vector<Row> rows_;
  std::vector<uint32_t> index_;  ///< events, row by row
  std::vector<Node> nodes_;
  std::vector<uint32_t> examples_;                    ///< by class
  std::vector<bool> heavy_;                           ///< by class
  std::vector<uint8_t> heavy_names_;                  ///< by name
  std::unordered_map<uint64_t, EventClass> classes_;  ///< by shared key
};

inline constexpr uint32_t kLodLeaf = 10;   ///< events per node
inline constexpr uint32_t kLodFanOut = 8;  ///< child nodes per node

Lod build_lod(const Model& model);

}  // namespace lockstep::gui

// The memory of a device over time: what was live at any time, and the most in any part
// of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gui/model/model.h"
#include "gui/model/time_index.h"

namespace lockstep::gui {

/// The live bytes of a device after each change.
class MemorySeries {
 public:
  /// Appends a value that holds from `when` on. REQUIRES: `when` does not decrease; of
  /// several values of the same time, the last one counts.
  void add(int64_t when, const Memory& memory);
  void close();  ///< call once, after the last `add`

  bool empty() const { return times_.empty(); }
  size_t size() const { return times_.size(); }
  /// The first value holds from INT64_MIN on.
  int64_t when(size_t point) const { return times_[point]; }
  int64_t total(size_t point) const { return totals_[point]; }
  Memory at(size_t point) const;
  /// Returns the point whose value holds at `ts`.
  size_t point_at(int64_t ts) const;
  /// Returns the first point with the most bytes from `first` to `last`, inclusive.
  size_t largest(size_t first, size_t last) const;
  size_t peak() const { return largest(0, size() - 1); }
  /// Returns, for each time but the last, the first point with the most bytes from it
  /// until the next time (exclusive; if that is not later, for 1 ns). Faster than one
  /// by one. REQUIRES: the times do not decrease.
  std::vector<size_t> largest_between(std::span<const int64_t> times) const;
  /// Returns `at` of each of many points. Faster than one by one.
  std::vector<Memory> at_each(std::span<const size_t> points) const;

 private:
  struct Delta {
    int64_t bytes : 56;
    uint64_t category : 8;
  };
  /// The first point with the most bytes of 16 points, or of 16 of these.
  struct Largest {
    int64_t total;
    uint32_t point;
  };
  /// Where the first largest of its 16 points is, until and from a point on.
  struct Ends {
    uint8_t until : 4, from : 4;
  };
  void find_ends();
  Largest largest_in(size_t level, uint32_t node) const;
  void prefetch_largest(size_t point) const;
  void store();                                   ///< the value of the newest point
  std::span<const int64_t> later_times() const {  ///< of all points but the first
    return std::span(times_).subspan(1);
  }

  std::vector<int64_t> times_, totals_;
  std::vector<uint32_t> deltas_of_;  ///< by point: end of its part of `deltas_`
  std::vector<Delta> deltas_;
  std::vector<Memory> sums_;                      ///< of every 16th point
  std::vector<std::vector<Largest>> largest_of_;  ///< pyramid
  std::vector<Ends> ends_;                        ///< by point: in its 16 points
  TimeIndex index_;
  Memory newest_, stored_;
};

/// Returns the memory of a device as its tasks reach it, or as the host has queued it:
/// for every time the same as `memory_reached` and `memory_queued` (memory.h). Empty if
/// that is not recorded.
MemorySeries memory_series(const Model& model, const Device& device, bool as_queued);

}  // namespace lockstep::gui

// Quantities over time, for the tracks of the timeline: the memory of a device, the
// number of devices that run a kernel, the bytes per second through a port.
//
// Each is built once from a Model. A query costs the logarithm of the number of points,
// so the cost of a frame depends on its width and not on the length of the trace.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/model/model.h"

namespace lockstep::gui {

/// Finds a place in sorted times with few reads of memory.
class TimeIndex {
 public:
  /// Reads the `count` times that `time_of(i)` returns.
  template <typename TimeOf>
  void build(size_t count, const TimeOf& time_of);
  /// Returns the number of times that are at most `ts`.
  template <typename TimeOf>
  size_t until(int64_t ts, const TimeOf& time_of) const;

 private:
  static constexpr size_t kPerPart = 16;  ///< times, on average
  size_t part_of(int64_t ts) const {
    return static_cast<size_t>(static_cast<double>(ts - begin_) * per_ns_);
  }
  int64_t begin_ = 0, last_ = 0;
  double per_ns_ = 0;
  size_t count_ = 0;
  std::vector<uint32_t> first_;  ///< of each part of equal length, then `count_`
};

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
  Largest largest_in(size_t level, uint32_t node) const;
  void store();  ///< the value of the newest point

  std::vector<int64_t> times_, totals_;
  std::vector<uint32_t> deltas_of_;  ///< by point: end of its part of `deltas_`
  std::vector<Delta> deltas_;
  std::vector<Memory> sums_;                      ///< of every 16th point
  std::vector<std::vector<Largest>> largest_of_;  ///< pyramid
  TimeIndex index_;
  Memory newest_, stored_;
};

/// Returns the memory of a device as its tasks reach it, or as the host has queued it:
/// for every time the same as `memory_reached` and `memory_queued` (memory.h). Empty if
/// that is not recorded.
MemorySeries memory_series(const Model& model, const Device& device, bool as_queued);

/// What a device's memory grew by at one point of its series.
struct Growth {
  int64_t bytes = 0;  ///< of `category`, which grew most; 0: it did not grow
  size_t category = 0;
  /// The op that it was allocated for: of the task that starts there or, as queued, the
  /// only op with work for the device in which the host then was. kNoEvent: unknown.
  uint32_t op = kNoEvent;
};
Growth growth_at(const Model& model, size_t device, const MemorySeries& series,
                 size_t point, bool as_queued);

/// The number of devices that run a kernel; memsets and copies within a device, which
/// PyTorch's profiler calls kernels, do not count.
class BusySeries {
 public:
  explicit BusySeries(const Model& model);
  bool empty() const { return points_.empty(); }
  int count(int64_t ts) const;
  /// Returns the mean from t0 to t1. REQUIRES: t0 < t1.
  double mean(int64_t t0, int64_t t1) const {
    return (device_time(t1) - device_time(t0)) / static_cast<double>(t1 - t0);
  }
  /// Returns the sum over devices of the ns in which they ran a kernel, until `ts`.
  double device_time(int64_t ts) const;

 private:
  struct Point {
    uint64_t ts : 48;
    uint64_t count : 16;  ///< from ts on
  };
  size_t after(int64_t ts) const;  ///< index of the first point later than ts

  std::vector<Point> points_;
  std::vector<double> sums_;  ///< device_time at every 16th point
  TimeIndex index_;
};

/// The bytes that pass through a port in one direction. A transfer's bytes are spread
/// evenly over its time.
class RateSeries {
 public:
  struct Transfer {
    int64_t begin, end, bytes;
  };
  RateSeries() = default;
  explicit RateSeries(const std::vector<Transfer>& transfers);
  bool empty() const { return points_.empty(); }
  /// Returns the bytes that have passed by `ts`.
  double bytes(int64_t ts) const;
  /// Returns bytes per second, the mean from t0 to t1. REQUIRES: t0 < t1.
  double rate(int64_t t0, int64_t t1) const {
    return (bytes(t1) - bytes(t0)) / static_cast<double>(t1 - t0) * 1e9;
  }

 private:
  struct Point {
    int64_t ts;
    double bytes;  ///< by ts; linear between points
  };
  std::vector<Point> points_;
  TimeIndex index_;
};

/// Both directions of one port.
struct PortSeries {
  RateSeries out, in;
};
/// Returns one per device.
std::vector<PortSeries> port_series(const Model& model);

}  // namespace lockstep::gui

// Quantities over time, for the tracks of the timeline: the memory of a device, the
// number of devices that run a kernel, the bytes per second through a port.
//
// Each is built once from a Model. A query costs the logarithm of the number of points,
// so the cost of a frame depends on its width and not on the length of the trace.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gui/model/memory_series.h"
#include "gui/model/model.h"
#include "gui/model/time_index.h"

namespace lockstep::gui {

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
  double device_time(int64_t ts) const { return device_time(ts, after(ts)); }
  /// Returns `device_time` of each of many times. Faster than one by one.
  std::vector<double> device_times(std::span<const int64_t> times) const;

 private:
  struct Point {
    uint64_t ts : 48;
    uint64_t count : 16;  ///< from ts on
  };
  static int64_t time_of(const Point& point) { return static_cast<int64_t>(point.ts); }
  size_t after(int64_t ts) const;  ///< index of the first point later than ts
  double device_time(int64_t ts, size_t later) const;

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
  double bytes(int64_t ts) const { return bytes(ts, after(ts)); }
  /// Returns `bytes` of each of many times. Faster than one by one.
  std::vector<double> bytes_each(std::span<const int64_t> times) const;
  /// Returns bytes per second, the mean from t0 to t1. REQUIRES: t0 < t1.
  double rate(int64_t t0, int64_t t1) const {
    return (bytes(t1) - bytes(t0)) / static_cast<double>(t1 - t0) * 1e9;
  }

 private:
  struct Point {
    int64_t ts;
    double bytes;  ///< by ts; linear between points
  };
  static int64_t time_of(const Point& point) { return point.ts; }
  size_t after(int64_t ts) const;  ///< index of the first point later than ts
  double bytes(int64_t ts, size_t after) const;
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

// What a GPU's profiler tells, put together: which kernel was whose, and when, on our
// clock. It knows nothing of CUPTI (cupti_timeline.cpp feeds it), so that it is tested
// without a GPU.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "tracer/record/device_activity.h"

namespace lockstep::cuda {

/// From a profiler's clock to ours (tracer::now_ns), by moments that both know.
class ClockMap {
 public:
  /// The profiler's clock showed `theirs` at some time in [before, after] of ours.
  struct Sample {
    int64_t before, theirs, after;
    int64_t width() const { return after - before; }
    int64_t ours() const { return before + width() / 2; }
  };
  /// Of samples taken at one moment: the tightest counts, to half its width. Later than
  /// the samples before.
  void add(const std::vector<Sample>& samples);
  /// Between two moments in proportion; outside all, as at the nearest.
  /// REQUIRES: one was added.
  int64_t ours(int64_t theirs) const;

 private:
  std::vector<Sample> moments_;
};

/// Joins a profiler's records, which come in any order. Not thread-safe.
class ActivityRecords {
 public:
  /// The call number `call` of CUDA was made for that event of the trace.
  void link(uint32_t call, int64_t event);
  /// What that call launched ran then, on the profiler's clock. An `end` of 0: nobody
  /// knows when.
  void work(uint32_t call, int64_t begin, int64_t end);

  /// The work of which the event is known, on the profiler's clock. Nothing of an event
  /// of whose pieces one has no times. What is still without its other half stays for
  /// the next call, and only for that.
  std::vector<tracer::DeviceActivity> take();

 private:
  struct Half {
    std::unordered_map<uint32_t, int64_t> links;
    std::vector<tracer::DeviceActivity> works;  ///< `event` is the call
  };
  const int64_t* event_of(uint32_t call) const;

  Half older_, newer_;
};

}  // namespace lockstep::cuda

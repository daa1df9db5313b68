// Matches a GPU profiler's records: which event launched each kernel, and when the
// kernel ran, on our clock. Independent of CUPTI (cupti_timeline.cpp supplies the
// records), so it can be tested without a GPU.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "tracer/record/device_activity.h"

namespace lockstep::cuda {

/// Maps a profiler's clock to ours (tracer::now_ns) using times sampled on both.
class ClockMap {
 public:
  /// The profiler's clock showed `theirs` at some time in [before, after] on ours.
  struct Sample {
    int64_t before, theirs, after;
    int64_t width() const { return after - before; }
    int64_t ours() const { return before + width() / 2; }
  };
  /// Adds samples taken at about the same time; keeps only the narrowest, which has an
  /// error of half its width. Must be called in chronological order.
  void add(const std::vector<Sample>& samples);
  /// Interpolates between samples; before the first and after the last, uses the offset
  /// of that sample. REQUIRES: add() was called.
  int64_t ours(int64_t theirs) const;

 private:
  std::vector<Sample> moments_;
};

/// Matches a profiler's records, which may arrive in any order. Not thread-safe.
class ActivityRecords {
 public:
  /// Records that CUDA call number `call` was made for `event` of the trace.
  void link(uint32_t call, int64_t event);
  /// Records when the work launched by `call` ran, on the profiler's clock. An `end` of
  /// 0 means unknown. `kernel` is its name, interned, or null for a copy.
  void work(uint32_t call, int64_t begin, int64_t end, const char* kernel = nullptr);

  /// Returns the work whose event is known, on the profiler's clock. Omits an event if
  /// any of its work lacks times. Unmatched records are kept for the next call only.
  std::vector<tracer::DeviceActivity> take();

 private:
  struct Half {
    std::unordered_map<uint32_t, int64_t> links;
    std::vector<tracer::DeviceActivity> works;  ///< `event` holds the call number
  };
  const int64_t* event_of(uint32_t call) const;

  Half older_, newer_;
};

}  // namespace lockstep::cuda

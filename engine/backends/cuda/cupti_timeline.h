// The times at which the GPU ran kernels and copies, from CUPTI's activity records.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::cuda {

/// Loads the CUPTI library on first use, and only when recording. If it is missing or
/// fails, the times of CUDA events are used instead. Thread-safe.
/// Source: CUPTI's documentation, "Activity API" and "External correlation".
struct CuptiTimeline {
  /// Loads and tests the library, which takes a while. Returns the reason why CUDA
  /// events are used instead, or an empty string if CUPTI works.
  static std::string prepare();

  /// Attributes the work that the calling thread launches until end() to this event of
  /// the trace; does nothing for kNone.
  static void begin(int64_t event);
  static void end();
};

}  // namespace lockstep::cuda

// The times at which the GPU ran kernels and copies, from CUPTI's activity records.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::cuda {

/// Loads the CUPTI library on first use, and only when recording. If it is missing or
/// refuses, the times of CUDA events are used. Thread-safe.
/// Source: CUPTI's documentation, "Activity API" and "External correlation".
struct CuptiTimeline {
  /// Loads the library and tests it, which takes a while. Returns why CUDA events are
  /// used instead; empty if CUPTI works.
  static std::string prepare();

  /// Attributes what the calling thread launches until `end` to that event of the
  /// trace; does nothing for kNone.
  static void begin(int64_t event);
  static void end();
};

}  // namespace lockstep::cuda

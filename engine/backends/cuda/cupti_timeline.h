// The GPU's own account of when its kernels and copies ran, by CUPTI's activity
// records.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::cuda {

/// CUPTI's library is loaded on first use, and only where something is recorded. Where
/// there is none, or it refuses, the times of CUDA events stay. Thread-safe.
/// Source: CUPTI's documentation, "Activity API" and "External correlation".
struct CuptiTimeline {
  /// Loads it and tries everything once, which takes a while. Returns why CUDA events
  /// stay; empty: they do not.
  static std::string prepare();

  /// What the calling thread launches from now on, until `end`, is done for that event
  /// of the trace; nothing happens for kNone.
  static void begin(int64_t event);
  static void end();
};

}  // namespace lockstep::cuda

// Kernels that slow down while a collective of their device is in flight, or while
// other devices compute.
#pragma once

#include <unordered_map>

#include "tracer/emulate/retime.h"

namespace lockstep::tracer {

/// Follows a schedule in the order of time. A device's streams share a pid.
class Interference {
 public:
  /// Both must outlive this.
  Interference(const TimingGraph& graph, const Weights& weights)
      : graph_(graph), weights_(weights), lost_(1 - 1 / weights.interference) {}

  /// Returns when the work of a kernel ends that started at `start` and takes
  /// `duration` without collectives and alone: `now`, if that is over, else a time
  /// before which it cannot be over. Ask again then. For anything else returns `now`.
  int64_t end_of(size_t moment, int64_t start, int64_t duration, int64_t now) const;

  /// A moment happens now.
  void happens(size_t moment, int64_t now);

 private:
  /// Sums the times in which something holds.
  class Stopwatch {
   public:
    void set(bool runs, int64_t now) {
      sum_ = until(now);
      since_ = now;
      runs_ = runs;
    }
    /// Returns the sum until now, in ns.
    int64_t until(int64_t now) const { return sum_ + (runs_ ? now - since_ : 0); }

   private:
    int64_t sum_ = 0, since_ = 0;
    bool runs_ = false;
  };
  struct Device {
    int collectives = 0, kernels = 0;  ///< in flight
    Stopwatch during_collectives;
    Stopwatch both;  ///< during collectives, and while several devices compute
  };
  /// What the stopwatches said when a kernel started.
  struct Started {
    int64_t during_collectives = 0, contended = 0, both = 0;
  };

  bool is_idle() const { return lost_ == 0 && !weights_.contention; }
  bool are_several() const { return computing_ > 1; }
  void collective(Device& device, bool ends, int64_t now);
  void kernel(Device& device, bool ends, int64_t now);

  const TimingGraph& graph_;
  const Weights& weights_;
  const double lost_;  ///< the share of a device's speed, during collectives
  std::unordered_map<int64_t, Device> devices_;  ///< by pid
  int computing_ = 0;                            ///< devices
  Stopwatch contended_;                          ///< while several devices compute
  std::unordered_map<size_t, Started> started_;  ///< by the kernel's event
};

}  // namespace lockstep::tracer

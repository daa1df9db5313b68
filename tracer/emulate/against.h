// A prediction beside a recording of the same thing.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/processor.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A time of one training step, in ns: the mean over the steps of a trace.
struct PredictedTime {
  std::string what;  ///< `one step`, or a phase on the devices
  /// Of a phase: from its first kernel or copy to the end of its last, on any device.
  int64_t predicted = 0, recorded = 0;
  /// The time that a device spends on its part of the phase, as the mean over its
  /// devices. Collectives count while their messages move, so waits for other devices
  /// are not in it; 0 if that is unknown, and in the row of the step.
  int64_t predicted_each = 0, recorded_each = 0;

  /// Returns the error relative to the recording, e.g. 0.05; 0 if that is 0.
  double error() const {
    return recorded == 0 ? 0 : static_cast<double>(predicted - recorded) / recorded;
  }
  /// Returns the same of a device's own time.
  double error_each() const {
    return recorded_each == 0
               ? 0
               : static_cast<double>(predicted_each - recorded_each) / recorded_each;
  }
};

struct Against {
  std::vector<PredictedTime> times;  ///< the step first, then each phase in order
  /// The kernels, by operation, whose times differ most: per step and device.
  PredictedTime worst_kernels;
  /// The share of the recorded devices' time in which kernels waited for a core or, on
  /// GPUs, for the GPU.
  double waiting = 0;
  Processor processor = Processor::cores;  ///< of the recorded devices
};

/// Throws std::runtime_error if the two traces differ in mode, network, devices or
/// batch, or if either has no complete training step.
Against against(const Trace& predicted, const Trace& recorded);

std::string against_text(const Against& result, const std::string& recorded_name);
Json against_json(const Against& result);

}  // namespace lockstep::tracer

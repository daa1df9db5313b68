// Facts that a model's wrapper reports about the running training step.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::tracer {

/// Facts that are known only to the wrapper around the model and stored
/// in the step's event; `trace check` requires them for its byte laws.
struct StepFacts {
  std::vector<int64_t> chunks;  ///< DataParallel: samples in each device's chunk
  int64_t output_bytes = 0;     ///< DataParallel: size of the joined output
};

/// Returns the facts of the step that the calling thread
/// is running. The code that begins a step clears them.
StepFacts& step_facts();

}  // namespace lockstep::tracer

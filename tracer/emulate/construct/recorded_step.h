// What a constructed program repeats on every device: one training step of one device.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/lanes.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A tensor of the model, from the trace's list.
struct ModelTensor {
  std::string name, dtype;
  std::vector<int64_t> shape;
  int64_t numel = 1, bytes = 0;
};

/// A gradient, in the order in which the step made them.
struct ReadyGradient {
  size_t parameter = 0;  ///< index into `parameters`
  int64_t hooked = 0;    ///< when its hook ran (ns from the start of the step)
  LaneKey lane;          ///< of the hook
};

/// One training step of a trace of a single device. Times count from its start.
struct RecordedStep {
  std::vector<Event> metadata;  ///< names of lanes
  std::vector<Event> events;  ///< sorted by time; what is outside the step is left out
  std::vector<ModelTensor> parameters, buffers;
  std::vector<ReadyGradient> ready;
  int64_t number = 0, batch = 0;
  int64_t begin = 0;  ///< of the step in the trace, ns
};

/// Returns the training step of median length, if possible of those after the first,
/// which plans kernels. A batch that a loader's worker fetched
/// meanwhile is left out: how long the step waited for its data is kept. Throws
/// std::runtime_error if the trace is not of one device that computes, or has no
/// complete training step.
RecordedStep recorded_step(const Trace& trace);

/// Returns the first phase of this name; `step` is the step itself. There must be one.
const Event& find_phase(const RecordedStep& step, const char* name);

/// Returns the host's wait for the threads of the backward pass. Throws
/// std::runtime_error if there is none.
const Event& end_of_backward(const RecordedStep& step);

}  // namespace lockstep::tracer

// The parts of a recorded step that the devices of a pipeline share.
#pragma once

#include <string>
#include <vector>

#include "tracer/emulate/construct/replica_step.h"

namespace lockstep::tracer {

/// What one stage of a pipeline repeats.
struct StagePart {
  std::vector<const Event*> forward;   ///< of the host, in order
  std::vector<BackwardNode> backward;  ///< in order, with those of its gradients
  std::vector<size_t> parameters;      ///< indices into RecordedStep::parameters
  std::vector<int64_t> input_shape;    ///< of the first module
};

/// Returns the parts of a step whose network is cut before the modules `cuts`, which
/// are called in this order: one stage more than cuts. A module that contains a cut is
/// not called: its parts are. A gradient belongs to the stage that made it. The step
/// must outlive the result.
///
/// Throws std::runtime_error that names the cut and the modules that were called if the
/// step did not call it, if it is the first one, or if cuts are not in order.
std::vector<StagePart> stage_parts(const ReplicaStep& step,
                                   const std::vector<std::string>& cuts);

}  // namespace lockstep::tracer

// What each part of a network took in a recorded step, for the choice of a pipeline's
// stages.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A part at which a stage can begin, and what it costs for one micro-batch.
struct RecordedPart {
  std::string name;                         ///< as in --split: `layer2.1`
  int64_t forward_ns = 0, backward_ns = 0;  ///< of its kernels, without the loss
  int64_t output_bytes = 0;                 ///< what the next part receives
};

/// Returns the smallest parts that the network of a single device's trace can be cut
/// into, in the order of their calls: the modules that it calls itself, and those of
/// its Sequentials in their place. Times are those of the median training step with a
/// batch of `micro_batch` images (0: the batch of the trace; `further` as for
/// ConstructedProgram). Throws std::runtime_error as construct_pipeline() does.
std::vector<RecordedPart> recorded_parts(const Trace& trace,
                                         const std::vector<const Trace*>& further,
                                         int64_t micro_batch);

}  // namespace lockstep::tracer

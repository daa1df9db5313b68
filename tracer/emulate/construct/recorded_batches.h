// The step of one device at several batches, and at those between them.
#pragma once

#include <vector>

#include "tracer/emulate/construct/recorded_step.h"

namespace lockstep::tracer {

/// Returns the step of a device with the given batch. If it was not recorded, the
/// times, bytes and FLOPs of its kernels lie on a line between those of the next
/// smaller and the next larger recorded batch, and the host keeps the pace of the
/// nearer one.
///
/// Throws std::runtime_error that names the recorded batches if there is none on one
/// side: nothing is extrapolated. Throws it, too, if the two steps do not run the same
/// kernels, and as recorded_step() does. The traces must outlive the result.
RecordedStep step_with_batch(const Trace& trace,
                             const std::vector<const Trace*>& further, int64_t batch);

/// Returns false if there would be none for want of a recorded batch.
bool has_step_with_batch(const Trace& trace, const std::vector<const Trace*>& further,
                         int64_t batch);

}  // namespace lockstep::tracer

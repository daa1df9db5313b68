// The runs that lesson 16 is about: one small training script with ten faults, of which
// each run has one. The recorded traces in `cases/` were made by record.sh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/machine/suspicions.h"
#include "tracer/format/trace.h"

namespace lockstep::lessons::detective {

/// What is wrong with a run; nothing: all is well.
///
/// - straggler: device 1 is three times as slow as the others
/// - loader: pictures come from a slow disk, and there is one worker
/// - hook: a hook reads a number from the device, to plot it
/// - bucket: buckets are filled in the order of the forward pass
/// - evaluation: rank 0 evaluates between two epochs, the others go on
/// - division: the script divides the mean gradients by the number of ranks
/// - set_epoch: every epoch has the order of the first
/// - seeds: every rank shuffles with a seed of its own
/// - port: a model with large layers in DataParallel, over slow links
/// - scale: each micro-batch's mean loss counts as much as a whole batch's
using Fault = std::optional<Suspicion>;

/// Runs the script with this fault on virtual devices, and returns its trace, re-timed
/// on devices with hardware of their own: kernels last as long as a table says, and the
/// host costs next to nothing (except with `loader`, which keeps its times). The
/// script itself is not in the trace. Takes about a second. Must not be called while
/// anything else records.
tracer::Trace run(Fault fault);

/// A recording of the lesson: `01` is the first in the learner's answers.
struct Case {
  int number;
  Suspicion fault;
};
const std::vector<Case>& cases();

/// Returns `cases/03.json.gz`.
std::string file_of(const Case& one);

}  // namespace lockstep::lessons::detective

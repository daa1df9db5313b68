// Which of several runs of the same work is the fastest, and why.
#pragma once

#include <string>
#include <vector>

#include "tracer/analysis/summary.h"

namespace lockstep::tracer {

/// Returns one sentence: "DDP is 1.24x as fast as DataParallel: 63 % of the reduction
/// is hidden behind backward." Names a cause only if it is in the traces. "" unless all
/// runs, at least two, trained the same architecture with the same batch per step on
/// the same clock, with times that mean something; if other programs used the cores, it
/// says that instead.
std::string verdict_sentence(const std::vector<const Summary*>& runs);

/// Returns the share of a step's bucket all-reduces that is hidden behind backward
/// (communication.h), 0 if there are none or the phases of kernels are unknown.
double hidden_reduction(const StepGroup& group);

/// Returns "2.5x faster", "1.12x slower" or "the same", for times in ns.
std::string faster_words(int64_t first, int64_t other);

}  // namespace lockstep::tracer

// What would make a step faster, and by how much at most.
#pragma once

#include <string>

#include "tracer/analysis/summary.h"

namespace lockstep::tracer {

/// Returns, for example, "What would help: without reduce and replicate, this step
/// would be at most 1.24x as fast. DDP sends no weights …". The bound holds because
/// what leaves the longest path shortens the step by no more than its share; another
/// path may then be the longest. If no wait or transfer is worth mentioning, says that.
/// Of a disturbed measurement it says what the path consists of, without a bound. ""
/// for one device, and where the path is unknown or its times mean nothing: null
/// devices, imports, ranks at their own pace.
std::string help_sentence(const StepSummary& step, const Summary& summary);

}  // namespace lockstep::tracer

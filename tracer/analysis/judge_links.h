// The links of an emulated machine.
#pragma once

#include "tracer/analysis/judge.h"

namespace lockstep::tracer {

/// In traces that were emulated on hardware: while a segment of a link is in use, it
/// carries no more than its bandwidth, and every copy names a path of known segments.
void judge_links(TraceUnderTest& test, Law& law);

}  // namespace lockstep::tracer

// Whether the ranks of a trace wait for each other in every step.
#pragma once

#include "tracer/format/args.h"

namespace lockstep::tracer {

/// Returns whether ranks may be in different steps, from the arguments of a `step`
/// event: see Step::own_pace.
bool at_own_pace(const Args& step);

}  // namespace lockstep::tracer

// Whether the ranks of a trace wait for each other in every step.
#pragma once

#include "tracer/format/args.h"
#include "tracer/format/keys.h"

namespace lockstep::tracer {

/// Returns whether ranks may be in different steps, from the arguments of a `step`
/// event: workers that share a model, or servers that do not wait for all of them.
inline bool at_own_pace(const Args& step) {
  const std::string_view consistency = text_arg(step, keys::consistency);
  const bool stale = !consistency.empty() && consistency != values::in_step;
  return stale || step.contains(keys::worker) || int_arg(step, keys::backup) > 0;
}

}  // namespace lockstep::tracer

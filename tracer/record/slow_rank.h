// The kernel that emulates a slow rank (`train --slow-rank 2:3x`). It computes nothing
// and uses no core: it only keeps the rank's device busy.
#pragma once

namespace lockstep::tracer::keys {

/// Of a kernel `lockstep::emulated_work`: a step takes this many times as long.
inline constexpr char slowness[] = "slowness";

}  // namespace lockstep::tracer::keys

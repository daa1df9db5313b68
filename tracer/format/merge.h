// Merging the traces of several ranks into one.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/clocks.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Merges the files of the ranks of a DDP run: renumbers ids, puts times on one clock
/// with a common origin (see clocks.h; `clocks` receives how), and combines the halves
/// of each message (`send` on the sender's side, `recv` on the receiver's) into one
/// `copy` on the receiver's lane, from the start of the send to the arrival. Unmatched
/// halves are left unchanged; `check` reports them. Throws std::runtime_error if two
/// files belong to the same rank or to different runs (imports: see merge_imports.h);
/// error messages refer to the files by `names`.
Trace merge_traces(std::vector<Trace> ranks, const std::vector<std::string>& names,
                   ClockReport* clocks = nullptr);

}  // namespace lockstep::tracer

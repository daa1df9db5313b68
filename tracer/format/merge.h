// Traces of several ranks become one.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Joins the files of a DDP run's ranks: ids are renumbered, times shifted to one
/// origin, and the halves of each message (`send` on the sender's side, `recv` on the
/// receiver's) become one `copy` on the receiver's lane, from the start of the send to
/// the arrival. Halves without a partner stay as they are; `check` reports them.
/// Throws std::runtime_error if two files belong to the same rank or to different runs;
/// error messages refer to the files by `names`.
Trace merge_traces(std::vector<Trace> ranks, const std::vector<std::string>& names);

}  // namespace lockstep::tracer

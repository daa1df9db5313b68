// Traces of several ranks become one.
#pragma once

#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// Joins the files of a DDP run's ranks: ids are renumbered, times shifted to one
/// origin, and the halves of each message (`send` on the sender's side, `recv` on the
/// receiver's) become one `copy` on the receiver's lane, from the send's beginning to
/// the arrival. Halves without a partner stay as they are; `check` names them.
/// Throws std::runtime_error when two files are of the same rank or of different runs;
/// `names` stand for the files in messages.
Trace merge_traces(std::vector<Trace> ranks, const std::vector<std::string>& names);

}  // namespace lockstep::tracer

// What can be wrong with a run, and how a trace proves it or clears it: the rules of
// lesson 16. No rule knows which recording it judges.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/machine/predicates.h"

namespace lockstep::lessons {

enum class Suspicion {
  straggler,   ///< one device is slower than others that do the same work
  loader,      ///< devices wait for pictures
  hook,        ///< the host waits for the device in the middle of backward
  bucket,      ///< the first bucket is complete last, so that none leaves in backward
  evaluation,  ///< some ranks evaluate, the others wait
  division,    ///< gradients are divided by the number of ranks again
  set_epoch,   ///< an epoch has the order of the one before
  seeds,       ///< two ranks read the same pictures
  port,        ///< a device's port is used by one copy after the other
  scale,       ///< the losses of micro-batches are not divided by their number
};

const std::vector<Suspicion>& all_suspicions();
/// Returns `set_epoch`.
const char* name(Suspicion suspicion);
/// Returns the suspicion whose name the text contains; nullopt if it contains none, or
/// several.
std::optional<Suspicion> suspicion_in(const std::string& text);

/// What a trace says about a suspicion.
struct Finding {
  Events guilty;        ///< the events that prove it, in order; empty: it is wrong
  std::string because;  ///< one sentence with numbers of this trace
};
Finding investigate(const tracer::Trace& trace, Suspicion suspicion);

/// Returns why an event is none of the guilty ones, in a clause. REQUIRES: there are
/// guilty events, and this is none of them.
std::string why_not(const tracer::Event& event, const Finding& finding);

}  // namespace lockstep::lessons

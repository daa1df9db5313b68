// Recordings that lack something: the files of some ranks, or the steps after a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// What there is of a recording that is not whole; `lockstep.partial` in a file.
struct Partial {
  std::vector<int64_t> ranks;  ///< that were recorded, ascending
  int64_t of = 1;              ///< the number of the run's ranks
  /// After which step it ends early, because a process died; kNone: it does not.
  int64_t last_step = kNone;

  bool ends_early() const { return last_step != kNone; }
  bool lacks_ranks() const { return static_cast<int64_t>(ranks.size()) < of; }
  /// Returns, for example, "ranks 0, 1 of 3; it ends early, after step 4".
  std::string text() const;
};

/// A recording without any complete step.
class NoCompleteStep : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns nullopt if the recording is whole. A file of one of several ranks is not.
std::optional<Partial> partial_of(const Trace& trace);

void set_partial(Trace& trace, const Partial& partial);

/// Returns whether no rank begins a step before all have ended the one before; see
/// `at_own_pace`. False for a trace without steps.
bool share_steps(const Trace& trace);

/// Removes what follows the last step that every rank has completed, or, if each rank
/// goes its own pace (see `share_steps`), that this rank has completed, and references
/// to it. Returns the last step that is left; kNone if there is none. `most`: the last
/// step that may be left.
int64_t keep_complete_steps(Trace& trace, int64_t most = INT64_MAX);

/// Removes references to events that were not recorded, or are not in the file. The
/// first step may wait for earlier work, `synchronize` for a stream's last task,
/// however old; a loader's workers span steps. `has_gaps`: steps were left out.
void forget_what_was_left_out(std::vector<Event>& events, bool has_gaps);

}  // namespace lockstep::tracer

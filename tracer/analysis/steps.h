// The training and evaluation steps of a trace, each with its events.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tracer/format/lanes.h"

namespace lockstep::tracer {

/// One `step` phase event and its facts. Pointers refer to the trace.
struct Step {
  const Event* event = nullptr;
  int64_t number = 0;
  int64_t rank = 0;          ///< kNone for the joined step of all ranks
  bool train = true;         ///< kind `train`; else `eval`
  bool interrupted = false;  ///< marked as cut short by an error
  bool imported = false;     ///< from another program: the next one may start before
                             ///< its kernels have ended
  /// Its ranks do not wait for each other in every step (`hogwild`, `locked`, `ps` with
  /// stale weights or backup workers).
  bool own_pace = false;
  bool warm_up = false;  ///< see mark_warm_up
  int64_t batch = 0;
  int64_t input_bytes = 0, label_bytes = 0, output_bytes = 0;
  std::vector<int64_t> chunks;
  bool input_on_device = false;  ///< images were moved to device 0 before `scatter`

  std::vector<const Event*> phases;  ///< the other phase events with this step number
  std::vector<const Event*> tasks;   ///< kernels, copies and collectives
  int64_t begin = 0;     ///< of `event`; if imported, not before the previous step ends
  int64_t last_end = 0;  ///< end of its last event, except a loader's
  int64_t host_end = 0;  ///< end of `event`
  std::map<int64_t, int64_t> rank_lengths;  ///< by rank, after ranks are joined
  /// … when each rank's step begins and ends.
  std::map<int64_t, std::pair<int64_t, int64_t>> rank_spans;

  bool has_phase(const char* name) const;
  /// Returns true for the joined step of ranks at their own pace: no longest path leads
  /// through it, since a rank may have nothing to do with the one that ends it.
  bool is_only_a_span() const { return own_pace && rank == kNone; }
  int64_t length() const { return last_end - begin; }  ///< the step's `seconds`
};

/// Joins steps of the same number on several ranks into one: it begins with
/// the first rank and ends with the last, and its batch is the sum over all
/// ranks. The steps of a trace with one rank are returned unchanged.
///
/// Where ranks go at their own pace, one may be several steps ahead. A joined step then
/// lasts from the end of the joined step before it to the time when the last rank has
/// made it, so that the lengths add up to the time that all steps took; and a rank is
/// in the step from its first step to its last one.
std::vector<Step> join_ranks(std::vector<Step> steps);

/// Marks the first training step if it took more than kColdStep times the median of the
/// others with its batch size: caches, buckets, the loader and the clock of the
/// processor are cold then. Not of imports, whose profilers skip steps themselves.
inline constexpr double kColdStep = 1.5;
void mark_warm_up(std::vector<Step>& steps);

/// Returns the steps sorted by time. Events of the same number (and rank) belong
/// to the step; if several `step` events share both, only the first is returned.
///
/// Imported steps overlap: the host starts the next one while kernels of this one still
/// run. Such a step ends with the last kernel or copy that it launched (or, if later,
/// on the host) and lasts from the end of the step before it (or, if later, from its
/// start on the host), so that the steps' lengths add up to the time they took. Work
/// that was launched before the first step delays it but is not part of it.
std::vector<Step> find_steps(const Trace& trace, const Lanes& lanes);
std::vector<Step> find_steps(const Trace& trace);

}  // namespace lockstep::tracer

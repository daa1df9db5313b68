// The collectives of one rank's step, and how much of each is hidden behind
// computation: the rule is that of tracer/analysis/communication.h, which also divides
// the times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gui/model/model.h"
#include "tracer/analysis/communication.h"
#include "tracer/analysis/summary.h"

namespace lockstep::gui {

/// One collective of one rank. Times are ns since the trace's first event.
struct CollectiveRow {
  uint32_t event = kNoEvent;
  tracer::CollectiveTime time;    ///< without transfer and wait (of all its time)
  int64_t ready = tracer::kNone;  ///< the last task that it waits for ended; kNone if
                                  ///< unknown
  bool has_phases = false;        ///< else its time behind backward is unknown

  bool is_bucket() const { return time.bucket >= 0; }
  std::string name() const { return time.what; }  ///< `bucket 0`, `buffers`, …
};

/// Divides the time of a collective. REQUIRES that the event is one. O(kernels of its
/// device that ran meanwhile).
CollectiveRow collective_row(const Model& model, uint32_t event);

/// Returns one rank's collectives of a step: the buckets first, then the others, both
/// by time.
std::vector<CollectiveRow> collectives_of(const Model& model, size_t step, int rank);

/// Returns the index of the bucket (if there is none: of the collective) with the
/// longest exposed time; nullopt if none is exposed, or times have no meaning.
std::optional<size_t> most_exposed(const Model& model,
                                   const std::vector<CollectiveRow>& rows);

/// Returns which bucket is exposed and by how much, in two sentences. If there is
/// nothing to tell, says why, and what to open instead.
std::string exposed_words(const Model& model, const std::vector<CollectiveRow>& rows);

/// Returns the most exposed bucket of each step of a rank, in one sentence, since steps
/// differ: the first ones are often slow. Returns "" for traces of one step, of more
/// than kMostStepsTold, without collectives or without times.
std::string exposed_by_step(const Model& model, int rank);
inline constexpr size_t kMostStepsTold = 6;

/// Returns the rank and bucket that are exposed the longest in a step of several ranks,
/// as a sentence; "" if none is. Without buckets, all collectives count.
std::string most_exposed_rank(const tracer::StepSummary& step);

/// Returns the event of a bucket's all-reduce in one rank's step. Returns kNoEvent and
/// sets `why` to a sentence that lists the buckets if the step has no such bucket.
uint32_t bucket_event(const Model& model, size_t step, int rank, int64_t bucket,
                      std::string& why);

}  // namespace lockstep::gui

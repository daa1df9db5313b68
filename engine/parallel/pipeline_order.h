// The order in which a rank of a pipeline runs its passes, as a slot.
#pragma once

#include <vector>

#include "engine/plan/pipeline.h"
#include "engine/runtime/slot.h"

namespace lockstep::parallel {

/// Returns the actions of one of `ranks` ranks, in the order in which it runs them.
/// Each rank has one stage, of its own number. Throws as plan::pipeline_schedule.
/// REQUIRES: 0 ≤ rank < ranks; `order` is not interleaved.
std::vector<plan::PipelineAction> order_of_rank(plan::PipelineOrder order, int rank,
                                                int ranks, int micro_batches);

/// The function that orders a rank's passes, in a slot (runtime/slot.h).
runtime::Slot<decltype(order_of_rank)>& pipeline_order();

/// Returns what plan::pipeline_schedule() returns, and throws what it throws. If a
/// learner's function is in the slot, it orders the passes of every schedule but the
/// interleaved one; throws std::runtime_error if the ranks cannot run its orders.
plan::PipelineSchedule schedule_in_use(plan::PipelineOrder order, int ranks,
                                       int micro_batches, int stages_per_rank = 1);

}  // namespace lockstep::parallel

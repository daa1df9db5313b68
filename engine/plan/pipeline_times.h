// When each action of a pipeline schedule runs, if its times are known: the makespan,
// and how many micro-batches are live.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/plan/pipeline.h"

namespace lockstep::plan {

/// Times of the passes of each stage, and of a message between ranks, in any unit.
struct PipelineCosts {
  std::vector<double> forward, backward;  ///< by stage
  double input_share = 0.5;  ///< of `backward`, for `I`; `W` takes the rest
  double latency = 0;  ///< from the end of a pass to the start of the next, elsewhere
};

/// An action that was given its times.
struct TimedAction {
  PipelineAction action;
  double start = 0, end = 0;
};

/// Returns the times by rank: each rank runs its actions in order, each as soon as its
/// input has arrived. Sends overlap with computing. Returns std::nullopt if ranks wait
/// for each other. REQUIRES costs for every stage. `progress`, if given, receives how
/// many actions each has run.
std::optional<std::vector<std::vector<TimedAction>>> pipeline_times(
    const PipelineSchedule& schedule, const PipelineCosts& costs,
    std::vector<size_t>* progress = nullptr);

/// Returns the end of the last action.
double makespan(const std::vector<std::vector<TimedAction>>& times);

/// Returns all actions, in the order in which they would start on equal stages whose
/// backward passes take twice as long as the forward passes. Every action comes after
/// those that it needs. If one thread enqueues the actions of all ranks in this order,
/// copies become ready in about the order in which devices send them. REQUIRES: the
/// schedule breaks no rule.
std::vector<PipelineAction> order_of_starts(const PipelineSchedule& schedule);

/// Returns the largest number of micro-batches (of one stage each) whose activations a
/// rank holds at the same time: from the forward pass to the end of the backward pass.
int live_micro_batches(const std::vector<PipelineAction>& rank);

}  // namespace lockstep::plan

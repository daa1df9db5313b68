// Pipeline schedules: the order in which each rank runs the forward and backward passes
// of its stages, micro-batch by micro-batch. A schedule is data: it is written and read
// as text in the syntax of torch.distributed.pipelining.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::plan {

/// What a rank does with one micro-batch at one stage.
enum class PipelineOp : char {
  forward = 'F',
  backward = 'B',        ///< the gradients of inputs and of weights
  input_backward = 'I',  ///< the gradients of inputs only, which the stage before needs
  weight_backward = 'W',  ///< those of the weights, which nobody waits for
};

struct PipelineAction {
  int stage = 0;
  PipelineOp op = PipelineOp::forward;
  int micro_batch = 0;

  bool operator==(const PipelineAction&) const = default;
};

/// Returns `2B7`: stage, operation, micro-batch.
std::string to_text(const PipelineAction& action);

/// Returns std::nullopt for any other text.
std::optional<PipelineAction> parse_action(std::string_view text);

/// The actions of each rank, in the order in which it runs them.
using PipelineSchedule = std::vector<std::vector<PipelineAction>>;

/// Which schedule.
enum class PipelineOrder {
  gpipe,        ///< all forward passes, then all backward passes
  one_f_one_b,  ///< P − rank forward passes, then backward and forward in turn: at most
                ///< P − rank micro-batches are live
  eager_one_f_one_b,  ///< 2 (P − rank) − 1 forward passes first: hides the links'
                      ///< latency
  interleaved,        ///< 1F1B over V stages per rank: rank r has r, P + r, 2P + r, …
};

/// Returns the schedule of `ranks` ranks (P) with `stages_per_rank` stages each (V; 1
/// unless interleaved) for `micro_batches` micro-batches (M). Backward passes are in
/// the order of the forward passes. Throws std::invalid_argument, naming the rule, if
/// the order does not exist for these numbers: 1F1B needs M ≥ P; interleaved needs M to
/// be a multiple of max(1, M / P) rounds. Source:
/// torch/distributed/pipelining/schedules.py, `ScheduleGPipe`, `Schedule1F1B`,
/// `_get_warmup_ops` and `_get_1f1b_rank_ops`. `eager_one_f_one_b` is not PyTorch's.
PipelineSchedule pipeline_schedule(PipelineOrder order, int ranks, int micro_batches,
                                   int stages_per_rank = 1);

/// Returns one line per rank: its actions, separated by commas. PyTorch's CSV files
/// also have empty cells, for steps in which a rank is idle: parse_schedule() skips
/// them.
std::string to_csv(const PipelineSchedule& schedule);

/// Throws std::invalid_argument with the line and the cell that is not an action.
PipelineSchedule parse_schedule(std::string_view csv);

/// Returns which rule a schedule breaks; "" if it can run and computes the gradients of
/// all micro-batches. Every stage is on one rank, and stages are numbered from 0. A
/// micro-batch goes forward before it goes back, once each way, and every `I` is
/// followed by its `W`. Ranks do not wait for each other. The text also shows the
/// schedule as a grid of steps and ranks, with the place of the error.
std::string broken_rule(const PipelineSchedule& schedule, int micro_batches);

}  // namespace lockstep::plan

// Lesson 18: a pipeline's schedule. In which order does each rank run its passes?
#include <algorithm>
#include <vector>

#include "engine/parallel/pipeline_order.h"
#include "lessons/plugin.h"

using namespace lockstep;

/// The order of one rank. Rank r has stage r of the model, so its actions are
/// `{rank, F, m}` and `{rank, B, m}`: the forward and the backward pass of micro-batch
/// m at this stage. As text: `2F0`, `2B0`.
using Order = std::vector<plan::PipelineAction>;

constexpr plan::PipelineOp F = plan::PipelineOp::forward;
constexpr plan::PipelineOp B = plan::PipelineOp::backward;

/// GPipe: all forward passes, then all backward passes, both from the first micro-batch
/// to the last.
Order gpipe(int rank, int ranks, int micro_batches) {
  // [solution-gpipe]
  Order order;
  for (int m = 0; m < micro_batches; ++m) order.push_back({rank, F, m});
  for (int m = 0; m < micro_batches; ++m) order.push_back({rank, B, m});
  return order;
  // [/solution-gpipe]
  lessons::not_written("gpipe: all forward passes, then all backward passes");
}

/// 1F1B: after a few forward passes, a backward pass and a forward pass in turn, until
/// only backward passes are left. Rank `r` of `ranks` never has more than `ranks - r`
/// micro-batches between their forward and their backward pass, and its step takes no
/// longer than GPipe's. There are at least as many micro-batches as ranks.
Order one_f_one_b(int rank, int ranks, int micro_batches) {
  // [solution-1f1b]
  Order order;
  const int first = ranks - rank;
  for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
  for (int m = 0; m < micro_batches; ++m) {
    order.push_back({rank, B, m});
    if (first + m < micro_batches) order.push_back({rank, F, first + m});
  }
  return order;
  // [/solution-1f1b]
  lessons::not_written("one_f_one_b: how many forward passes come first?");
}

/// 1F1B for slow links. A message to the neighbour and back takes time, so more forward
/// passes come first: as many as fit into `2 (ranks - r) - 1` live micro-batches (or
/// all, if there are fewer). It goes on as 1F1B. A step then waits for links as rarely
/// as GPipe's.
Order eager(int rank, int ranks, int micro_batches) {
  // [solution-eager]
  Order order;
  const int first = std::min(2 * (ranks - rank) - 1, micro_batches);
  for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
  for (int m = 0; m < micro_batches; ++m) {
    order.push_back({rank, B, m});
    if (first + m < micro_batches) order.push_back({rank, F, first + m});
  }
  return order;
  // [/solution-eager]
  lessons::not_written("eager: 1F1B with more forward passes first");
}

/// Given: the engine asks for the order of one rank. `which` is --pipeline-schedule.
Order order_of(plan::PipelineOrder which, int rank, int ranks, int micro_batches) {
  switch (which) {
    case plan::PipelineOrder::one_f_one_b:
      return one_f_one_b(rank, ranks, micro_batches);
    case plan::PipelineOrder::eager_one_f_one_b:
      return eager(rank, ranks, micro_batches);
    default:
      return gpipe(rank, ranks, micro_batches);
  }
}

// The check finds your functions through these; do not change them.
extern "C" void lesson_gpipe(int rank, int ranks, int micro_batches, Order& order) {
  order = gpipe(rank, ranks, micro_batches);
}
extern "C" void lesson_one_f_one_b(int rank, int ranks, int micro_batches,
                                   Order& order) {
  order = one_f_one_b(rank, ranks, micro_batches);
}
extern "C" void lesson_eager(int rank, int ranks, int micro_batches, Order& order) {
  order = eager(rank, ranks, micro_batches);
}

LOCKSTEP_LESSON(18) { parallel::pipeline_order().plug(order_of); }

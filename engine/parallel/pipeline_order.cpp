#include "engine/parallel/pipeline_order.h"

#include <stdexcept>
#include <string>

namespace lockstep::parallel {

std::vector<plan::PipelineAction> order_of_rank(plan::PipelineOrder order, int rank,
                                                int ranks, int micro_batches) {
  return plan::pipeline_schedule(order, ranks, micro_batches)[rank];
}

runtime::Slot<decltype(order_of_rank)>& pipeline_order() {
  static runtime::Slot<decltype(order_of_rank)> in_use("pipeline_order", order_of_rank);
  return in_use;
}

plan::PipelineSchedule schedule_in_use(plan::PipelineOrder order, int ranks,
                                       int micro_batches, int stages_per_rank) {
  plan::PipelineSchedule schedule =
      plan::pipeline_schedule(order, ranks, micro_batches, stages_per_rank);
  const bool one_stage = order != plan::PipelineOrder::interleaved;
  if (!one_stage || !pipeline_order().plugged()) return schedule;
  for (int rank = 0; rank < ranks; ++rank) {
    schedule[rank] = pipeline_order()(order, rank, ranks, micro_batches);
  }
  const std::string broken = plan::broken_rule(schedule, micro_batches);
  if (broken.empty()) return schedule;
  throw std::runtime_error("the slot pipeline_order: " + broken);
}

}  // namespace lockstep::parallel

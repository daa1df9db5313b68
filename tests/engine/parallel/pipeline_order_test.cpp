#include "engine/parallel/pipeline_order.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep::parallel {
namespace {

using plan::PipelineOp;
using plan::PipelineOrder;
using Actions = std::vector<plan::PipelineAction>;

/// Empties the slot when a test ends, whatever its result.
class PipelineOrderSlot : public testing::Test {
 protected:
  ~PipelineOrderSlot() override { pipeline_order().unplug(); }
};

TEST_F(PipelineOrderSlot, EmptyItGivesTheSchedulesOfPlan) {
  for (const auto order : {PipelineOrder::gpipe, PipelineOrder::one_f_one_b,
                           PipelineOrder::eager_one_f_one_b}) {
    const auto expected = plan::pipeline_schedule(order, 3, 4);
    EXPECT_EQ(schedule_in_use(order, 3, 4), expected);
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(pipeline_order()(order, rank, 3, 4), expected[rank]);
    }
  }
  EXPECT_EQ(schedule_in_use(PipelineOrder::interleaved, 2, 4, 2),
            plan::pipeline_schedule(PipelineOrder::interleaved, 2, 4, 2));
  EXPECT_THROW(schedule_in_use(PipelineOrder::one_f_one_b, 4, 3),
               std::invalid_argument);
}

TEST_F(PipelineOrderSlot, ALearnersFunctionOrdersEachRanksPasses) {
  pipeline_order().plug([](PipelineOrder, int rank, int, int micro_batches) {
    Actions actions;  // backward from the last to the first
    for (int m = 0; m < micro_batches; ++m) {
      actions.push_back({rank, PipelineOp::forward, m});
    }
    for (int m = micro_batches; m-- > 0;) {
      actions.push_back({rank, PipelineOp::backward, m});
    }
    return actions;
  });
  EXPECT_EQ(plan::to_csv(schedule_in_use(PipelineOrder::one_f_one_b, 2, 2)),
            "0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n");
  EXPECT_EQ(schedule_in_use(PipelineOrder::interleaved, 2, 4, 2),
            plan::pipeline_schedule(PipelineOrder::interleaved, 2, 4, 2));
}

TEST_F(PipelineOrderSlot, OrdersThatCannotRunAreRefused) {
  pipeline_order().plug([](PipelineOrder, int rank, int, int) {
    return Actions{{rank, PipelineOp::backward, 0}, {rank, PipelineOp::forward, 0}};
  });
  try {
    schedule_in_use(PipelineOrder::gpipe, 2, 1);
    FAIL() << "it must throw";
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.substr(0, what.find('\n')),
              "the slot pipeline_order: 0B0: the forward pass comes later, or never");
  }
}

}  // namespace
}  // namespace lockstep::parallel

// Pipeline schedules against published orders, makespans and memory (P = 4 ranks, M = 8
// micro-batches where nothing else is said), and against each rule broken on purpose.
#include "engine/plan/pipeline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "engine/plan/pipeline_times.h"

namespace lockstep::plan {
namespace {

/// `F0 F1 B0 …` of rank `rank`, whose only stage has its number.
std::string order_of(const std::vector<PipelineAction>& rank, bool with_stage = false) {
  std::string text;
  for (const PipelineAction& action : rank) {
    const std::string whole = to_text(action);
    text += (text.empty() ? "" : " ") +
            (with_stage ? whole : whole.substr(whole.find_first_of("FBIW")));
  }
  return text;
}

PipelineCosts equal_costs(size_t stages, double forward, double backward,
                          double latency = 0) {
  return {std::vector<double>(stages, forward), std::vector<double>(stages, backward),
          0.5, latency};
}

double makespan_of(const PipelineSchedule& schedule, const PipelineCosts& costs) {
  return makespan(pipeline_times(schedule, costs).value());
}

std::vector<int> peaks(const PipelineSchedule& schedule) {
  std::vector<int> result;
  for (const auto& rank : schedule) result.push_back(live_micro_batches(rank));
  return result;
}

TEST(Pipeline, GPipeRunsAllForwardThenAllBackward) {
  const PipelineSchedule schedule = pipeline_schedule(PipelineOrder::gpipe, 4, 8);
  for (const auto& rank : schedule) {
    EXPECT_EQ(order_of(rank), "F0 F1 F2 F3 F4 F5 F6 F7 B0 B1 B2 B3 B4 B5 B6 B7");
  }
  EXPECT_EQ(peaks(schedule), (std::vector<int>{8, 8, 8, 8}));
}

// PyTorch's and Megatron's order, which agree. In PyTorch it is the order of
// `Schedule1F1B._step_microbatches` (torch/distributed/pipelining/schedules.py).
TEST(Pipeline, OneFOneB) {
  const PipelineSchedule schedule = pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8);
  EXPECT_EQ(order_of(schedule[0]), "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  EXPECT_EQ(order_of(schedule[1]), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7");
  EXPECT_EQ(order_of(schedule[2]), "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7");
  EXPECT_EQ(order_of(schedule[3]), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
  EXPECT_EQ(peaks(schedule), (std::vector<int>{4, 3, 2, 1}));
}

TEST(Pipeline, EagerOneFOneB) {
  EXPECT_EQ(peaks(pipeline_schedule(PipelineOrder::eager_one_f_one_b, 4, 8)),
            (std::vector<int>{7, 5, 3, 1}));
}

// The order of PyTorch's `ScheduleInterleaved1F1B`: `_calculate_single_rank_operations`
// without the empty steps (the same file).
TEST(Pipeline, InterleavedWithTwoStagesPerRank) {
  const PipelineSchedule schedule =
      pipeline_schedule(PipelineOrder::interleaved, 4, 8, 2);
  const char* const published[] = {
      "0F0 0F1 0F2 0F3 4F0 4F1 4F2 4F3 0F4 0F5 0F6 4B0 0F7 4B1 4F4 4B2 4F5 4B3 4F6 0B0 "
      "4F7 0B1 0B2 0B3 4B4 4B5 4B6 4B7 0B4 0B5 0B6 0B7",
      "1F0 1F1 1F2 1F3 5F0 5F1 5F2 5F3 1F4 5B0 1F5 5B1 1F6 5B2 1F7 5B3 5F4 1B0 5F5 1B1 "
      "5F6 1B2 5F7 1B3 5B4 5B5 5B6 5B7 1B4 1B5 1B6 1B7",
      "2F0 2F1 2F2 2F3 6F0 6F1 6F2 6B0 6F3 6B1 2F4 6B2 2F5 6B3 2F6 2B0 2F7 2B1 6F4 2B2 "
      "6F5 2B3 6F6 6B4 6F7 6B5 6B6 6B7 2B4 2B5 2B6 2B7",
      "3F0 3F1 3F2 3F3 7F0 7B0 7F1 7B1 7F2 7B2 7F3 7B3 3F4 3B0 3F5 3B1 3F6 3B2 3F7 3B3 "
      "7F4 7B4 7F5 7B5 7F6 7B6 7F7 7B7 3B4 3B5 3B6 3B7"};
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(order_of(schedule[rank], true), published[rank]) << rank;
  }
  EXPECT_EQ(peaks(schedule), (std::vector<int>{11, 9, 7, 5}));
}

// Three ranks and four micro-batches: one round of four, which Megatron has not.
TEST(Pipeline, InterleavedWithRoundsLongerThanTheRanks) {
  EXPECT_EQ(to_csv(pipeline_schedule(PipelineOrder::interleaved, 3, 4, 2)),
            "0F0,0F1,0F2,0F3,3F0,3F1,3F2,3F3,3B0,3B1,3B2,3B3,0B0,0B1,0B2,0B3\n"
            "1F0,1F1,1F2,1F3,4F0,4F1,4F2,4B0,4F3,4B1,4B2,4B3,1B0,1B1,1B2,1B3\n"
            "2F0,2F1,2F2,2F3,5F0,5B0,5F1,5B1,5F2,5B2,5F3,5B3,2B0,2B1,2B2,2B3\n");
}

TEST(PipelineTimes, OfEqualStages) {
  const auto gpipe = pipeline_schedule(PipelineOrder::gpipe, 4, 8);
  const auto alternating = pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8);
  EXPECT_EQ(makespan_of(gpipe, equal_costs(4, 1, 1)), 22);
  EXPECT_EQ(makespan_of(gpipe, equal_costs(4, 1, 2)), 33);
  EXPECT_EQ(makespan_of(alternating, equal_costs(4, 1, 1)), 22);
  EXPECT_EQ(makespan_of(alternating, equal_costs(4, 1, 2)), 33);
  EXPECT_EQ(
      makespan_of(pipeline_schedule(PipelineOrder::gpipe, 1, 8), equal_costs(1, 1, 2)),
      24);
}

// 2 M V + 2 (P − 1) for stages of time 1.
TEST(PipelineTimes, OfInterleavedStages) {
  struct Case {
    int ranks, stages, micro_batches;
    double makespan;
  };
  for (const Case& c : {Case{4, 2, 8, 38},
                        {2, 2, 4, 18},
                        {4, 4, 8, 70},
                        {4, 2, 4, 22},
                        {8, 2, 16, 78},
                        {4, 3, 12, 78},
                        {3, 2, 4, 20},
                        {4, 2, 10, 46}}) {
    const auto schedule = pipeline_schedule(PipelineOrder::interleaved, c.ranks,
                                            c.micro_batches, c.stages);
    EXPECT_EQ(broken_rule(schedule, c.micro_batches), "");
    EXPECT_EQ(makespan_of(schedule, equal_costs(c.ranks * c.stages, 1, 1)), c.makespan)
        << c.ranks << " ranks";
  }
}

// GPipe pays 2 (P − 1) times the latency, 1F1B once per round trip, unless it is eager.
TEST(PipelineTimes, OfLinksWithLatency) {
  struct Case {
    double latency, gpipe, alternating, interleaved, eager;
  };
  for (const Case& c : {Case{0, 33, 33, 28.5, 33},
                        {0.1, 33.6, 34.6, 29.9, 33.6},
                        {0.25, 34.5, 37, 32, 34.5},
                        {0.5, 36, 41, 35.5, 36},
                        {1, 39, 49, 46, 39}}) {
    const PipelineCosts whole = equal_costs(4, 1, 2, c.latency);
    const PipelineCosts half = equal_costs(8, 0.5, 1, c.latency);
    const auto near = [&](PipelineOrder order, const PipelineCosts& costs,
                          double expected) {
      const int stages = static_cast<int>(costs.forward.size()) / 4;
      EXPECT_NEAR(makespan_of(pipeline_schedule(order, 4, 8, stages), costs), expected,
                  1e-9)
          << "latency " << c.latency;
    };
    near(PipelineOrder::gpipe, whole, c.gpipe);
    near(PipelineOrder::one_f_one_b, whole, c.alternating);
    near(PipelineOrder::interleaved, half, c.interleaved);
    near(PipelineOrder::eager_one_f_one_b, whole, c.eager);
  }
}

TEST(PipelineTimes, OfOneSlowStage) {
  PipelineCosts costs = equal_costs(4, 1, 2);
  costs.forward[1] = 2, costs.backward[1] = 4;
  EXPECT_EQ(makespan_of(pipeline_schedule(PipelineOrder::gpipe, 4, 8), costs), 57);
  EXPECT_EQ(makespan_of(pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8), costs),
            53);
}

TEST(Pipeline, EveryScheduleObeysTheRules) {
  for (int ranks = 1; ranks <= 6; ++ranks) {
    for (int m = 1; m <= 13; ++m) {
      EXPECT_EQ(broken_rule(pipeline_schedule(PipelineOrder::gpipe, ranks, m), m), "");
      if (m >= ranks) {
        for (const PipelineOrder order :
             {PipelineOrder::one_f_one_b, PipelineOrder::eager_one_f_one_b}) {
          EXPECT_EQ(broken_rule(pipeline_schedule(order, ranks, m), m), "");
        }
      }
      if (m % std::max(1, m / ranks) != 0) continue;
      for (int stages = 1; stages <= 3; ++stages) {
        const auto schedule =
            pipeline_schedule(PipelineOrder::interleaved, ranks, m, stages);
        EXPECT_EQ(broken_rule(schedule, m), "") << ranks << " " << m << " " << stages;
      }
    }
  }
}

/// V stages per rank, M micro-batches, P ranks.
struct TorchCase {
  int stages, micro_batches, ranks;
};

// PyTorch's test/distributed/pipelining/test_schedule.py, class TestSchedulePlan: the
// cases of ScheduleLoopedBFS and ScheduleInterleaved1F1B, then those of the flexible
// numbers of micro-batches.
TEST(Pipeline, PyTorchsCasesAreValid) {
  for (const TorchCase& c : std::vector<TorchCase>{
           {2, 2, 2},   {2, 4, 4},    {2, 8, 2},  {2, 8, 4},  {2, 8, 8},  {4, 4, 4},
           {4, 8, 4},   {4, 8, 8},    {4, 16, 4}, {4, 32, 4}, {4, 64, 4}, {4, 16, 16},
           {4, 32, 32}, {4, 128, 64}, {3, 2, 2},  {3, 8, 2},  {3, 12, 4}, {4, 6, 3},
           {4, 10, 5},  {2, 3, 4},    {2, 10, 4}, {2, 15, 4}}) {
    const std::string name =
        fmt::format("V={} M={} P={}", c.stages, c.micro_batches, c.ranks);
    const auto schedule = pipeline_schedule(PipelineOrder::interleaved, c.ranks,
                                            c.micro_batches, c.stages);
    EXPECT_EQ(broken_rule(schedule, c.micro_batches), "") << name;
    size_t actions = 0;
    for (const auto& rank : schedule) actions += rank.size();
    EXPECT_EQ(actions, 2u * c.stages * c.micro_batches * c.ranks) << name;
  }
}

TEST(Pipeline, RefusesNumbersWithoutASchedule) {
  EXPECT_THROW(pipeline_schedule(PipelineOrder::one_f_one_b, 4, 3),
               std::invalid_argument);
  EXPECT_THROW(pipeline_schedule(PipelineOrder::gpipe, 4, 8, 2), std::invalid_argument);
  EXPECT_THROW(pipeline_schedule(PipelineOrder::gpipe, 0, 8), std::invalid_argument);
  EXPECT_THROW(pipeline_schedule(PipelineOrder::interleaved, 4, 13, 2),
               std::invalid_argument);
  EXPECT_NO_THROW(pipeline_schedule(PipelineOrder::interleaved, 4, 10, 2));
  EXPECT_NO_THROW(pipeline_schedule(PipelineOrder::interleaved, 4, 3, 2));
}

TEST(Pipeline, TextIsReadAsItIsWritten) {
  const auto schedule = pipeline_schedule(PipelineOrder::interleaved, 4, 8, 2);
  EXPECT_EQ(parse_schedule(to_csv(schedule)), schedule);
  EXPECT_EQ(to_csv(parse_schedule("0F0, ,0F1,,0I0,0W0\r\n1F0")),
            "0F0,0F1,0I0,0W0\n1F0\n");
  for (const char* wrong : {"0F", "F0", "0X0", "-0F0", "0F0\n\n1F0", "0F0F", "-1F0",
                            "0F-1", "0F99999999999"}) {
    EXPECT_THROW(parse_schedule(wrong), std::invalid_argument) << wrong;
  }
  try {
    parse_schedule("0F0\n1F0,1SEND_F0");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "line 2, cell 2: '1SEND_F0' is not an action such as 0F0 or 2B7");
  }
}

TEST(Pipeline, EachBrokenRuleIsNamed) {
  const auto rule = [](const char* csv, int micro_batches = 1) {
    const std::string text = broken_rule(parse_schedule(csv), micro_batches);
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(rule("0F0,0B0"), "");
  EXPECT_EQ(rule("0F0,0I0,0W0"), "");
  EXPECT_EQ(rule("0F0,0F0,0B0"), "0F0: the forward pass runs twice");
  EXPECT_EQ(rule("0B0,0F0"), "0B0: the forward pass comes later, or never");
  EXPECT_EQ(rule("0F0,0B0,0I0"), "0I0: the backward pass runs twice");
  EXPECT_EQ(rule("0F0,0W0,0I0"),
            "0W0: the gradient of the input comes later, or never");
  EXPECT_EQ(rule("0F0,0I0,0W0,0W0"), "0W0: the gradient of the weights runs twice");
  EXPECT_EQ(rule("0F0,0I0"), "0W0 is missing");
  EXPECT_EQ(rule("0F0,0B0", 2), "0F1 is missing");
  EXPECT_EQ(rule("0F0,0B0\n1F0"), "1B0 is missing");
  EXPECT_EQ(rule("0F0,0B0\n0F0"), "0F0: the stage is on rank 0, too");
  EXPECT_EQ(rule("0F3,0B3"), "0F3: there is no such micro-batch");
  EXPECT_EQ(rule("1F0,1B0"), "0F0 is missing");
  EXPECT_EQ(rule("999999999F0"), "999999999F0: there is no stage before it");
  EXPECT_EQ(rule(""), "the schedule is empty");
  EXPECT_EQ(rule("0F0,0F1,0B0,0B1\n1F1,1B1,1F0,1B0", 2), "");
  EXPECT_EQ(rule("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0", 2),
            "0B0: never runs: ranks wait for each other");
}

TEST(Pipeline, ABrokenRuleIsShownInAGrid) {
  EXPECT_EQ(broken_rule(parse_schedule("0F0,0B0\n1B0,1F0"), 1),
            "1B0: the forward pass comes later, or never\n"
            "step  rank 0    rank 1  \n"
            "0     0F0       1B0  <-- ERROR HERE: rank 1\n"
            "1     0B0       1F0\n");
}

}  // namespace
}  // namespace lockstep::plan

// Sends and receives of pipeline schedules: the cases of PyTorch's
// test/distributed/pipelining/test_schedule.py (`test_send_recv`, `test_csv`), and of
// torchgpipe's tests/test_pipeline.py.
#include "engine/plan/pipeline_sends.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep::plan {
namespace {

std::string program_text(const std::vector<PipelineInstruction>& rank) {
  std::string text;
  for (const PipelineInstruction& instruction : rank) {
    text += (text.empty() ? "" : " ") + to_text(instruction);
  }
  return text;
}

TEST(PipelineSends, OfTwoStages) {
  const PipelineProgram program =
      with_messages(parse_cells("0F0,0F1,,0B0,,0B1\n"
                                ",1F0,1B0,1F1,1B1,\n"));
  ASSERT_EQ(program.size(), 2u);
  EXPECT_EQ(program_text(program[0]),
            "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1");
  EXPECT_EQ(program_text(program[1]),
            "1RECV_F0 1RECV_F1 1F0 1B0 1SEND_B0 1F1 1B1 1SEND_B1");
  EXPECT_EQ(simulated_steps(program), 11u);
}

// Stages 0 and 3 are on rank 0, 1 and 2 on rank 1: nothing is sent from 1 to 2.
TEST(PipelineSends, OfAVPlacement) {
  const PipelineProgram program =
      with_messages(parse_cells("0F0,0F1,,3F0,3B0,3F1,3B1,0B0,3W0,0B1,3W1,0W0,0W1\n"
                                ",1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1,2W0,2W1,1W0,1W1\n"));
  EXPECT_EQ(program_text(program[1]),
            "1RECV_F0 1RECV_F1 1F0 2F0 2SEND_F0 1F1 2RECV_B0 2F1 2SEND_F1 2B0 2RECV_B1 "
            "1B0 1SEND_B0 2B1 1B1 1SEND_B1 2W0 2W1 1W0 1W1");
  EXPECT_EQ(simulated_steps(program), 24u);
}

// zb1p_2rank_2stagep_compute.csv: two ranks with two stages each, 8 micro-batches.
TEST(PipelineSends, OfAZeroBubbleSchedule) {
  const PipelineProgram program = with_messages(parse_cells(
      "0F0,0F1,2F0,,2F1,2B0,2W0,0F2,2B1,2W1,0F3,0B0,0W0,2F2,0B1,0W1,2F3,2B2,2W2,0F4,"
      "2B3,2W3,0F5,0B2,0W2,2F4,0B3,0W3,2F5,2B4,2W4,0F6,2B5,2W5,0F7,0B4,0W4,2F6,0B5,"
      "0W5,2F7,2B6,2W6,2B7,2W7,0B6,0W6,0B7,0W7\n"
      ",1F0,1F1,3F0,3B0,3F1,3B1,3W0,1F2,1B0,3W1,1F3,1B1,1W0,3F2,3B2,1W1,3F3,3B3,3W2,"
      "1F4,1B2,3W3,1F5,1B3,1W2,3F4,3B4,1W3,3F5,3B5,3W4,1F6,1B4,3W5,1F7,1B5,1W4,3F6,"
      "3B6,1W5,3F7,3B7,3W6,1B6,3W7,1B7,1W6,1W7\n"));
  EXPECT_EQ(simulated_steps(program), 113u);
}

TEST(PipelineSends, EveryMessageIsSentOnceAndReceivedOnce) {
  const PipelineSchedule schedule =
      pipeline_schedule(PipelineOrder::interleaved, 4, 8, 2);
  const PipelineProgram program = with_messages(parse_cells(to_csv(schedule)));
  size_t sends = 0, receives = 0, actions = 0;
  for (const auto& rank : program) {
    for (const PipelineInstruction& instruction : rank) {
      sends += instruction.kind == PipelineInstruction::Kind::send;
      receives += instruction.kind == PipelineInstruction::Kind::receive;
      actions += instruction.kind == PipelineInstruction::Kind::compute;
    }
  }
  EXPECT_EQ(actions, 2u * 8 * 8);
  EXPECT_EQ(sends, 2u * 7 * 8);  // both ways over 7 cuts
  EXPECT_EQ(receives, sends);
  EXPECT_TRUE(simulated_steps(program).has_value());
}

TEST(PipelineSends, RanksThatWaitForEachOtherAreShown) {
  try {
    with_messages(parse_cells("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n"));
    FAIL();
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("ranks wait for each other"), std::string::npos) << text;
    EXPECT_NE(text.find("<-- ERROR HERE: rank 0"), std::string::npos) << text;
  }
}

TEST(PipelineSends, AReceiveBeforeItsSendNeverEnds) {
  PipelineProgram program = with_messages(parse_cells("0F0,0B0\n1F0,1B0\n"));
  EXPECT_EQ(simulated_steps(program), 6u);
  std::swap(program[0][1], program[0][2]);  // the gradient before the activation
  EXPECT_EQ(simulated_steps(program), std::nullopt);
}

TEST(PipelineClock, CyclesOfTorchgpipe) {
  using Cycles = std::vector<std::vector<std::pair<int, int>>>;
  EXPECT_EQ(clock_cycles(3, 3), (Cycles{{{0, 0}},
                                        {{1, 0}, {0, 1}},
                                        {{2, 0}, {1, 1}, {0, 2}},
                                        {{2, 1}, {1, 2}},
                                        {{2, 2}}}));
  EXPECT_EQ(
      clock_cycles(4, 2),
      (Cycles{
          {{0, 0}}, {{1, 0}, {0, 1}}, {{2, 0}, {1, 1}}, {{3, 0}, {2, 1}}, {{3, 1}}}));
}

TEST(PipelineAction, TextThatIsNone) {
  for (const char* text : {"", "F0", "0F", "0X0", "-1F0", "0F0 ", "0F99999999999"}) {
    EXPECT_FALSE(parse_action(text).has_value()) << text;
  }
  EXPECT_EQ(parse_action("12W345"),
            (PipelineAction{12, PipelineOp::weight_backward, 345}));
}

}  // namespace
}  // namespace lockstep::plan

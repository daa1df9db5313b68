// Pipelines whose stages are ranks: a chain whose messages have two halves. Times in
// µs.
#include "gui/model/stage_messages.h"

#include <gtest/gtest.h>

#include "gui/model/details.h"
#include "gui/model/transfers.h"
#include "gui/panels/stage_parts.h"
#include "tests/gui/model/narrated.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

/// A half of a message of micro-batch 0, or its copy, as a line of a made trace.
std::string half_of(const char* what, int rank, const char* when, const char* more) {
  return fmt::format("{} {} {} rank={} group=default group_size=3 micro_batch=0 {}\n",
                     what, rank + 1, when, rank, more);
}

/// Stage 1 waits for the gradient from 100 on; stage 2 sends it from 184 to 190, and
/// its bytes move from 185 to 188. Stage 1 asks for the activations 25 after stage 0
/// has begun to send them. `last` is one more line.
Model chain(const std::string& last = "") {
  const std::string ahead = "why=activation stage=1 bytes=2000000 seq=0 ";
  const std::string back = "why=activation_grad stage=1 bytes=1048576 seq=6 ";
  const std::string lines =
      "phase step 0 0 300 rank=0 kind=train\n" +
      half_of("collective send", 0, "40 30", (ahead + "collective=send").c_str()) +
      half_of("collective recv", 1, "65 6", (ahead + "collective=recv").c_str()) +
      half_of("copy activation", 1, "65 5",
              (ahead + "src=0 dst=1 ring_step=0").c_str()) +
      half_of("collective recv", 1, "100 90", (back + "collective=recv").c_str()) +
      half_of("collective send", 2, "184 6", (back + "collective=send").c_str()) +
      half_of("copy activation_grad", 1, "185 3",
              (back + "src=2 dst=1 ring_step=0").c_str()) +
      last;
  return made("model-parallel", lines.c_str()).model();
}

/// Returns the sentence about the half of a message by or to a rank.
std::string said_of(const Model& model, int rank, std::string_view why) {
  for (uint32_t i = 0; i < model.events.size(); ++i) {
    if (model.rank_of(i) != rank || !stage_message(model, i)) continue;
    if (string_arg(args_of(model, model.events[i]), keys::why) != why) continue;
    const State state = state_at(model, at_event(model, i));
    return narrate(model, state, break_down(model, state.step), english()).text;
  }
  return "";
}

TEST(StageMessages, ATimeIsThatUntilBytesMove) {
  const Model model = chain();
  expect_readable(model);
  EXPECT_EQ(said_of(model, 1, "activation_grad"),
            "**Stage 1** waits for micro-batch 0's gradient from stage 2: **85.0 µs** "
            "of 90.0 µs. Then 1.05 MB arrive.");
  EXPECT_EQ(said_of(model, 2, "activation_grad"),
            "**Stage 2** sends micro-batch 0's gradient (1.05 MB) back to stage 1, in "
            "6.00 µs.");
  EXPECT_EQ(said_of(model, 1, "activation"),
            "**Stage 1** receives micro-batch 0's activations (2.00 MB) from stage 0, "
            "in 6.00 µs.");
  EXPECT_EQ(said_of(model, 0, "activation"),
            "**Stage 0** sends micro-batch 0's activations (2.00 MB) to stage 1, in "
            "30.0 µs; for 25.0 µs of that, stage 1 is not ready to receive.");
}

TEST(StageMessages, AreNoRoundsOfARing) {
  const Model model = chain();
  for (const Copy& copy : model.copies) EXPECT_EQ(ring_message(model, copy).rounds, 0);
  const uint32_t gradient = model.collectives.size() > 1 ? 1 : 0;
  Underway now;
  now.collective = gradient;
  now.messages = 1;
  EXPECT_EQ(round_in_words(model, now), "stage 2 sends it to stage 1");
  now.awaited = 2;
  EXPECT_EQ(round_in_words(model, now), "stage 1 waits for stage 2");
  now.awaited = -1;
  now.arrived = 1;
  EXPECT_EQ(round_in_words(model, now), "it has arrived at stage 1");
  const uint32_t half = model.collectives[gradient].events.front();
  EXPECT_EQ(collective_label(model, half), "receives gradient 0");
  EXPECT_EQ(collective_label(model, half, true), "gradient 0");
}

TEST(StageMessages, AreFoundByTheirReasonOnEitherRank) {
  const Model model = chain();
  std::string why;
  const auto sent = parse_position(model, "3:activation", why);
  ASSERT_TRUE(sent) << why;
  EXPECT_EQ(model.name_of(model.events[event_at(model, *sent)]), "send");
  EXPECT_FALSE(parse_position(model, "3:activation_grad", why)) << "rank 0 has none";
}

TEST(StageMessages, GoBackOnAChainThatNothingCloses) {
  const Model model = chain();
  const Joints joints = joints_of(model);
  EXPECT_TRUE(is_chain(model));
  EXPECT_FALSE(joints.closed);
  EXPECT_EQ(joints.order, (std::vector<int>{0, 1, 2}));
  for (const Copy& copy : model.copies) {
    EXPECT_EQ(joints.goes_back(model, copy), copy.src == 2) << copy.src;
  }
  const RingLayout layout = lay_out_ring({0, 0, 600, 400}, joints.order);
  for (const float t : {0.05f, 0.3f, 0.5f, 0.95f}) {
    const ImVec2 back = on_ring_path(layout, 2, 1, t, true);
    const ImVec2 ahead = on_ring_path(layout, 1, 2, 1 - t);
    EXPECT_EQ(back.x, ahead.x);
    EXPECT_EQ(back.y, ahead.y);
  }
  EXPECT_FALSE(is_chain(made("ddp", "phase step 0 0 9 rank=1").model()));
}

TEST(StageMessages, CloseTheChainIfARankHasSeveralStages) {
  const Model model = chain(
      "copy activation 1 250 9 rank=0 why=activation src=2 dst=0 bytes=8 "
      "group=default seq=9 ring_step=0 stage=3 micro_batch=0");
  EXPECT_TRUE(joints_of(model).closed);
  for (const Copy& copy : model.copies) {
    const bool gradient = model.strings[copy.why] == "activation_grad";
    EXPECT_EQ(joints_of(model).goes_back(model, copy), gradient);
  }
}

}  // namespace
}  // namespace lockstep::gui

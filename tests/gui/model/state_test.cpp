// What goes on at chosen moments of minimal.json, worked out by hand. Its first event
// starts at 1 us, so 12 us in the file are 11,000 ns here.
#include "gui/model/state.h"

#include "gui/model/details.h"
#include "tests/gui/model/valid.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

class MinimalState : public ::testing::Test {
 protected:
  State at_us(double us) const {
    const auto ns = static_cast<int64_t>(us * 1000) - 1000;
    return state_at(model_, {Order::time, ns, 0, 0.5f});
  }
  State at_id(int64_t id, float progress = 0.5f) const {
    Position position = at_event(model_, model_.event_of_id(id));
    position.progress = progress;
    return state_at(model_, position);
  }
  int64_t id(uint32_t event) const {
    return event == kNoEvent
               ? -1
               : number_arg(args_of(model_, model_.events[event]), "id", -2);
  }
  /// Ids on the streams compute and copy of both devices; -1 where nothing runs.
  std::vector<int64_t> running(const State& state) const {
    std::vector<int64_t> ids;
    for (const DeviceState& device : state.devices) {
      ids.push_back(id(device.running[0]));
      ids.push_back(id(device.running[1]));
      EXPECT_EQ(device.running[2], kNoEvent);
    }
    return ids;
  }
  std::vector<int64_t> ids(const std::vector<uint32_t>& events) const {
    std::vector<int64_t> result;
    for (const uint32_t event : events) result.push_back(id(event));
    return result;
  }

  Model model_ = load_file(minimal_path());
};

using Ids = std::vector<int64_t>;

TEST_F(MinimalState, WhatRuns) {
  EXPECT_EQ(running(at_us(1.5)), (Ids{-1, -1, -1, -1}));
  EXPECT_EQ(running(at_us(5)), (Ids{-1, 20, -1, 21}));
  EXPECT_EQ(running(at_us(12)), (Ids{23, -1, -1, 22}));
  EXPECT_EQ(running(at_us(20)), (Ids{23, -1, 25, -1}));
  EXPECT_EQ(running(at_us(22)), (Ids{-1, 26, 25, -1})) << "23 ends where 26 begins";
  EXPECT_EQ(running(at_us(40)), (Ids{29, -1, 30, -1}));
  EXPECT_EQ(running(at_us(60)), (Ids{-1, 32, -1, -1}));
}

TEST_F(MinimalState, PacketsFlyWithTheirCopies) {
  const State two = at_us(6);
  ASSERT_EQ(two.packets.size(), 2u);
  EXPECT_FLOAT_EQ(two.packets[0].progress, 2.0f / 4.0f);
  EXPECT_FLOAT_EQ(two.packets[1].progress, 1.5f / 4.5f);
  EXPECT_EQ(id(model_.copies[two.packets[1].copy].event), 21);
  const State one = at_us(12);
  ASSERT_EQ(one.packets.size(), 1u);
  EXPECT_FLOAT_EQ(one.packets[0].progress, 0.5f);
  EXPECT_EQ(model_.copies[one.packets[0].copy].bytes, 48);
  EXPECT_EQ(at_us(77).packets.size(), 1u) << "the loss flies to the host";
  EXPECT_TRUE(at_us(50).packets.empty());
}

TEST_F(MinimalState, PortsCountWhatArrived) {
  const State early = at_us(12);
  EXPECT_EQ(early.devices[0].in, 40);
  EXPECT_EQ(early.devices[0].out, 0) << "the parameters are still on their way";
  EXPECT_EQ(early.devices[1].in, 20);
  EXPECT_EQ(early.host_out, 60);
  const State late = at_us(64);
  EXPECT_EQ(late.devices[0].in, 40 + 24 + 8 + 48);
  EXPECT_EQ(late.devices[0].out, 48 + 8 + 8);
  EXPECT_EQ(late.devices[1].in, 20 + 48 + 8 + 8);
  EXPECT_EQ(late.devices[1].out, 8 + 48);
  EXPECT_EQ(late.host_out, 40 + 20 + 24);
  EXPECT_EQ(late.host_in, 0);
  EXPECT_EQ(at_us(95).host_in, 4);
}

TEST_F(MinimalState, Memory) {
  EXPECT_EQ(at_us(2).devices[0].memory.total(), 96) << "before the first: the first";
  EXPECT_EQ(at_us(59).devices[0].memory.total(), 96);
  EXPECT_EQ(at_us(60).devices[0].memory.total(), 168);
  EXPECT_EQ(at_us(60).devices[0].memory.bytes[1], 48) << "gradients";
  EXPECT_EQ(at_us(60).devices[1].memory.total(), 0) << "it has no counters";
}

TEST_F(MinimalState, StackAndPhase) {
  EXPECT_EQ(ids(at_id(23).stack), (Ids{1, 2, 3, 6, 23}));
  EXPECT_EQ(id(at_id(23).phase), 2);
  EXPECT_EQ(ids(at_id(25).stack), (Ids{1, 2, 3, 7, 25}));
  EXPECT_EQ(ids(at_id(31).stack), (Ids{1, 11, 14, 30, 31}));
  EXPECT_EQ(id(at_id(1).phase), 1);
}

TEST_F(MinimalState, EffectsOfACall) {
  const State scatter = at_id(4);
  EXPECT_EQ(scatter.effect_count, 2u);
  EXPECT_EQ(scatter.effects_after, 1'000);
  EXPECT_EQ(scatter.devices[0].effects.copies_in, 1u);
  EXPECT_EQ(scatter.devices[0].effects.bytes_in, 40);
  EXPECT_EQ(scatter.devices[1].effects.bytes_in, 20);
  const State forward = at_id(2);
  EXPECT_EQ(forward.devices[0].effects.kernels, 1u);
  EXPECT_EQ(forward.devices[0].effects.kernel_time, 11'500);
  EXPECT_EQ(id(forward.devices[1].effects.first), 21);
  EXPECT_EQ(forward.devices[0].effects.bytes_out, 48 + 8);
  EXPECT_EQ(forward.devices[0].effects.bytes_in, 40 + 8);
}

TEST_F(MinimalState, EffectsFlyOneAfterTheOther) {
  EXPECT_EQ(at_id(20, 0.25f).packets.size(), 1u);
  EXPECT_FLOAT_EQ(at_id(20, 0.25f).packets[0].progress, 0.25f);
  const State begin = at_id(2, 0), end = at_id(2, 1);
  ASSERT_FALSE(begin.packets.empty());
  ASSERT_FALSE(end.packets.empty());
  EXPECT_EQ(id(model_.copies[begin.packets.front().copy].event), 20);
  EXPECT_EQ(id(model_.copies[end.packets.back().copy].event), 27);
}

TEST_F(MinimalState, RunsOnALane) {
  const Lane& main = model_.lanes[0];
  EXPECT_EQ(id(running_on(model_, main, 2'100)), 4);
  EXPECT_EQ(id(running_on(model_, main, 4'500)), 3);
  EXPECT_EQ(id(running_on(model_, main, 94'999)), 1);
  EXPECT_EQ(running_on(model_, main, 95'000), kNoEvent);
  EXPECT_EQ(running_on(model_, main, -5), kNoEvent);
}

TEST(State, IsAPureFunctionOfThePosition) {
  const Model model = load_file(golden() / "viewer/dp.json.gz");
  for (uint32_t place = 0; place + 50 < model.program.size(); place += 50) {
    const Position begin = at_event(model, model.program[place]);
    Position position = begin;
    for (int i = 0; i < 40; ++i) position = moved(model, position, Move::into);
    for (int i = 0; i < 40; ++i) position = moved(model, position, Move::back);
    const State a = state_at(model, begin), b = state_at(model, position);
    ASSERT_EQ(a.now, b.now);
    ASSERT_EQ(a.stack, b.stack);
    ASSERT_EQ(a.effect_count, b.effect_count);
    ASSERT_EQ(a.packets.size(), b.packets.size());
  }
}

}  // namespace
}  // namespace lockstep::gui

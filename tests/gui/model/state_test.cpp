// The state at selected times of minimal.json, derived manually. Its first event starts
// at 1 us, so 12 us in the file are 11,000 ns here. Its events, each below its cause;
// tests/tracer/named_events.h describes how events are addressed:
//
//   step 0
//     forward
//       DataParallel.__call__
//         Scatter
//           scatter images@cpu:0
//           scatter images@cpu:1
//         Broadcast
//           replicate parameters@cpu:1
//           replicate buffers@cpu:1
//         aten::linear#1
//           aten::linear@cpu:0
//         aten::linear#2  [replica 1]
//           aten::linear@cpu:1
//         wait for replicas
//         Gather
//           gather outputs@cpu:0
//     aten::to
//       labels to device 0@cpu:0
//     backward
//       GatherBackward
//         gradient of outputs@cpu:1
//       AddmmBackward0#1
//         AddmmBackward0@cpu:0
//       AddmmBackward0#2
//         AddmmBackward0@cpu:1
//           grad_ready@cpu:1
//       BroadcastBackward
//         reduce gradients@cpu:0
//     aten::item
//       wait for the loss
//       loss to the host  [copies to the host]
#include "gui/model/state.h"

#include <map>
#include <set>

#include "tests/gui/model/made_trace.h"
#include "tests/gui/model/named_model.h"
#include "tests/gui/model/valid.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT
using tracer::testing::expect_header_shows;
using tracer::testing::NamedEvents;

class MinimalState : public ::testing::Test {
 protected:
  State at_us(double us) const {
    const auto ns = static_cast<int64_t>(us * 1000) - 1000;
    return state_at(model_, {Order::time, ns, 0, 0.5f});
  }
  State at(std::string_view path, float progress = 0.5f) const {
    Position position = at_event(model_, event(path));
    position.progress = progress;
    return state_at(model_, position);
  }
  uint32_t event(std::string_view path) const {
    return static_cast<uint32_t>(names_[path]);
  }
  std::string name(uint32_t event) const { return names_.name_of(event); }
  /// The running tasks of the devices' streams in order; "" if there are none.
  std::string running(double us) const {
    const State state = at_us(us);
    std::string text;
    for (int device = 0; device < 2; ++device) {
      for (int stream = 0; stream < 3; ++stream) {
        const uint32_t event = state.devices[device].running[stream];
        if (event == kNoEvent) continue;
        const Lane& lane = model_.lanes[model_.events[event].lane];
        EXPECT_EQ(lane.device, device) << name(event);
        EXPECT_EQ(lane.stream, stream) << name(event);
        text += (text.empty() ? "" : ", ") + name(event);
      }
    }
    return text;
  }
  std::string stack(std::string_view path) const {
    std::string text;
    for (const uint32_t event : at(path).stack) {
      text += (text.empty() ? "" : "/") + name(event);
    }
    return text;
  }
  std::string name_of_copy(const Packet& packet) const {
    return name(model_.copies[packet.copy].event);
  }

  const Model model_ = load_file(minimal_path());
  const NamedEvents names_ = names_of(model_);
};

TEST_F(MinimalState, WhatRuns) {
  expect_header_shows("tests/gui/model/state_test.cpp", names_);
  EXPECT_EQ(running(1.5), "");
  EXPECT_EQ(running(5), "scatter images@cpu:0, scatter images@cpu:1");
  EXPECT_EQ(running(12), "aten::linear@cpu:0, replicate parameters@cpu:1");
  EXPECT_EQ(running(20), "aten::linear@cpu:0, aten::linear@cpu:1");
  EXPECT_EQ(running(22), "labels to device 0@cpu:0, aten::linear@cpu:1")
      << "device 0's kernel ends where the copy begins";
  EXPECT_EQ(running(40), "AddmmBackward0@cpu:0, AddmmBackward0@cpu:1");
  EXPECT_EQ(running(60), "reduce gradients@cpu:0");
}

TEST_F(MinimalState, PacketsFlyWithTheirCopies) {
  const State two = at_us(6);
  ASSERT_EQ(two.packets.size(), 2u);
  EXPECT_FLOAT_EQ(two.packets[0].progress, 2.0f / 4.0f);
  EXPECT_FLOAT_EQ(two.packets[1].progress, 1.5f / 4.5f);
  EXPECT_EQ(name_of_copy(two.packets[1]), "scatter images@cpu:1");
  const State one = at_us(12);
  ASSERT_EQ(one.packets.size(), 1u);
  EXPECT_FLOAT_EQ(one.packets[0].progress, 0.5f);
  EXPECT_EQ(model_.copies[one.packets[0].copy].bytes, 48);
  EXPECT_EQ(at_us(77).packets.size(), 1u) << "the loss is copied to the host";
  EXPECT_TRUE(at_us(50).packets.empty());
}

TEST_F(MinimalState, PortsCountWhatArrived) {
  const State early = at_us(12);
  EXPECT_EQ(early.devices[0].in, 40);
  EXPECT_EQ(early.devices[0].out, 0) << "the parameters are still in transit";
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
  EXPECT_EQ(at_us(2).devices[0].memory.total(), 96) << "extends the first value";
  EXPECT_EQ(at_us(59).devices[0].memory.total(), 96);
  EXPECT_EQ(at_us(60).devices[0].memory.total(), 168);
  EXPECT_EQ(at_us(60).devices[0].memory.bytes[1], 48) << "gradients";
  EXPECT_EQ(at_us(60).devices[1].memory.total(), 0) << "no counters for it";
}

TEST_F(MinimalState, StackAndPhase) {
  EXPECT_EQ(stack("aten::linear@cpu:0"),
            "step 0/forward/DataParallel.__call__/aten::linear#1/aten::linear@cpu:0");
  EXPECT_EQ(name(at("aten::linear@cpu:0").phase), "forward");
  EXPECT_EQ(stack("aten::linear@cpu:1"),
            "step 0/forward/DataParallel.__call__/aten::linear#2/aten::linear@cpu:1");
  EXPECT_EQ(stack("grad_ready@cpu:1"),
            "step 0/backward/AddmmBackward0#2/AddmmBackward0@cpu:1/grad_ready@cpu:1");
  EXPECT_EQ(name(at("step 0").phase), "step 0");
}

TEST_F(MinimalState, EffectsOfACall) {
  const State scatter = at("Scatter");
  EXPECT_EQ(scatter.effect_count, 2u);
  EXPECT_EQ(scatter.effects_after, 1'000);
  EXPECT_EQ(scatter.devices[0].effects.copies_in, 1u);
  EXPECT_EQ(scatter.devices[0].effects.bytes_in, 40);
  EXPECT_EQ(scatter.devices[1].effects.bytes_in, 20);
  const State forward = at("forward");
  EXPECT_EQ(forward.devices[0].effects.kernels, 1u);
  EXPECT_EQ(forward.devices[0].effects.kernel_time, 11'500);
  EXPECT_EQ(name(forward.devices[1].effects.first), "scatter images@cpu:1");
  EXPECT_EQ(forward.devices[0].effects.bytes_out, 48 + 8);
  EXPECT_EQ(forward.devices[0].effects.bytes_in, 40 + 8);
}

TEST_F(MinimalState, EffectsFlyOneAfterTheOther) {
  const State copy = at("scatter images@cpu:0", 0.25f);
  EXPECT_EQ(copy.packets.size(), 1u);
  EXPECT_FLOAT_EQ(copy.packets[0].progress, 0.25f);
  const State begin = at("forward", 0), end = at("forward", 1);
  ASSERT_FALSE(begin.packets.empty());
  ASSERT_FALSE(end.packets.empty());
  EXPECT_EQ(name_of_copy(begin.packets.front()), "scatter images@cpu:0");
  EXPECT_EQ(name_of_copy(end.packets.back()), "gather outputs@cpu:0");
}

/// Two copies that overlap by half, a long gap, and a third one: names and whether each
/// is in flight at a share of the progress.
constexpr const char* kOverlapping = R"(
phase scatter 0 0 1000
copy a 2 100 20 op=1 why=scatter src=host dst=0 bytes=1000
copy b 3 110 20 op=1 why=scatter src=host dst=1 bytes=1000
copy c 2 900 20 op=1 why=scatter src=host dst=0 bytes=1000
)";

std::string flying(const Model& model, float progress) {
  Position position = at_event(model, 0);
  position.progress = progress;
  std::string names;
  for (const Packet& packet : state_at(model, position).packets) {
    names += model.name_of(model.events[model.copies[packet.copy].event]);
  }
  return names;
}

TEST(Packets, CopiesThatOverlappedFlyTogetherAndGapsAreLeftOut) {
  const Model model = made("dp", kOverlapping).model();
  std::string order;
  for (float progress = 0.001f; progress < 1; progress += 0.002f) {
    const std::string now = flying(model, progress);
    EXPECT_NE(now, "") << "at " << progress;
    if (!order.ends_with(" " + now)) order += " " + now;
  }
  EXPECT_EQ(order, " a ab b c");
  EXPECT_EQ(flying(model, 0.5f), "ab") << "a step comes to rest where most copies fly";
}

/// The copies of a paused picture at `event`: "a" moves, "(a)" waits.
std::string still_at(const Model& model, uint32_t event) {
  std::string names;
  for (const Packet& packet : state_at(model, at_event(model, event)).still.packets) {
    const std::string& name =
        model.name_of(model.events[model.copies[packet.copy].event]);
    names += packet.waits ? "(" + name + ")" : name;
  }
  return names;
}

TEST(Packets, APausedPictureShowsWhatHasBegunAndWhatWaits) {
  const Model model = made("dp", kOverlapping).model();
  const auto named = [&](const std::string& name) {
    for (uint32_t i = 0; i < model.events.size(); ++i) {
      if (model.name_of(model.events[i]) == name) return i;
    }
    return kNoEvent;
  };
  EXPECT_EQ(still_at(model, named("scatter")), "(a)(b)") << "first on each link";
  EXPECT_EQ(still_at(model, named("a")), "ab") << "in the middle of a, b begins";
  EXPECT_EQ(still_at(model, named("b")), "b") << "in the middle of b, a has ended";
  EXPECT_EQ(still_at(model, named("c")), "c") << "a and b have ended";
}

TEST(Packets, OfARecordedTraceMoveOnlyWhileTheirCopiesRun) {
  for (const char* name : {"viewer/dp.json.gz", "viewer/ddp.json.gz"}) {
    const Model model = load_file(golden() / name);
    size_t moving = 0, waiting = 0;
    for (uint32_t i = 0; i < model.events.size(); i += 7) {
      const State state = state_at(model, at_event(model, i));
      for (const Packet& packet : state.still.packets) {
        const uint32_t copy = model.copies[packet.copy].event;
        const Event& event = model.events[copy];
        EXPECT_EQ(packet.waits, event.ts > state.now);
        EXPECT_TRUE(packet.waits || copy == state.event || event.end() > state.now);
        ++(packet.waits ? waiting : moving);
      }
      const Underway& now = state.still.underway;
      EXPECT_TRUE(!now.to_come || now.arrived < now.messages);
    }
    EXPECT_GT(moving, 10u) << name;
    EXPECT_GT(waiting, 20u) << name;
  }
}

/// Their times have no meaning: each copy flies for the same share of the progress.
TEST(Packets, OfNullDevicesAreSpreadEvenly) {
  std::string text = tracer::read_whole_file(golden() / "viewer/dp.json.gz");
  for (size_t at = 0; (at = text.find("\"cpu:", at)) != text.npos;) {
    text.replace(at, 5, "\"null:");
  }
  const Model model = load_model("null.json", text);
  ASSERT_FALSE(model.has_device_times());
  std::string why;
  Position at = *parse_position(model, "2:replicate", why);
  std::map<uint32_t, int> flown;
  for (at.progress = 0.0005f; at.progress < 1; at.progress += 0.001f) {
    for (const Packet& packet : state_at(model, at).packets) ++flown[packet.copy];
  }
  ASSERT_GT(flown.size(), 3u);
  for (const auto& [copy, times] : flown) {
    EXPECT_NEAR(times, flown.begin()->second, 3);
  }
}

TEST(Links, OfAPausedPhaseAreAllKnown) {
  const Model model = load_file(golden() / "viewer/dp.json.gz");
  const auto devices = model.devices.size();
  for (const auto& [phase, links] : {std::pair("2:scatter", devices),
                                     {"2:gather", devices - 1},
                                     {"2:replicate", devices - 1},
                                     {"2:data", size_t{0}}}) {
    std::string why;
    const auto at = parse_position(model, phase, why);
    ASSERT_TRUE(at) << why;
    std::set<std::pair<int, int>> pairs;
    for (const uint32_t copy : state_at(model, *at).links) {
      pairs.emplace(model.copies[copy].src, model.copies[copy].dst);
    }
    EXPECT_EQ(pairs.size(), links) << phase;
  }
}

TEST_F(MinimalState, RunsOnALane) {
  const Lane& main = model_.lanes[0];
  EXPECT_EQ(name(running_on(model_, main, 2'100)), "Scatter");
  EXPECT_EQ(name(running_on(model_, main, 4'500)), "DataParallel.__call__");
  EXPECT_EQ(name(running_on(model_, main, 94'999)), "step 0");
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

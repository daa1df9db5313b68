// Navigation in a trace. minimal.json in program order, each event below its cause;
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
#include "gui/model/position.h"

#include <optional>
#include <random>

#include "tests/gui/model/made_trace.h"
#include "tests/gui/model/named_model.h"
#include "tests/gui/model/valid.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT
using tracer::testing::expect_header_shows;
using tracer::testing::NamedEvents;
using enum Move;

constexpr const char* kLast = "loss to the host";  ///< the last event of the program

class MinimalPosition : public ::testing::Test {
 protected:
  /// The name of the event at a position, as in the header's tree.
  std::string name_at(const Position& position) const {
    return names_.name_of(event_at(model_, position));
  }

  /// `from("Scatter").step(over)` is the name of the event that the move reaches.
  struct Place {
    const MinimalPosition& test;
    Position position;
    std::string step(Move move) const {
      return test.name_at(moved(test.model_, position, move));
    }
  };
  Place from(std::string_view path) const {
    return {*this, at_event(model_, static_cast<uint32_t>(names_[path]))};
  }

  const Model model_ = load_file(minimal_path());
  const NamedEvents names_ = names_of(model_);
};

TEST_F(MinimalPosition, IntoVisitsTheProgram) {
  expect_header_shows("tests/gui/model/position_test.cpp", names_);
  Position position = moved(model_, {}, first);
  std::vector<int64_t> visited = {event_at(model_, position)};
  while (visited.size() < model_.events.size()) {
    position = moved(model_, position, into);
    visited.push_back(event_at(model_, position));
  }
  EXPECT_EQ(visited, names_.keys()) << "in the order of the header";
  EXPECT_EQ(moved(model_, position, into), position) << "stays at the end";
  EXPECT_EQ(position, moved(model_, {}, last));
}

TEST_F(MinimalPosition, IntoAndBackAgainIsWhereOneWas) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const auto size = static_cast<uint32_t>(model_.program.size());
    const uint32_t start = random() % size, steps = random() % (size - start);
    const Position begin = at_event(model_, model_.program[start]);
    Position position = begin;
    for (uint32_t n = 0; n < steps; ++n) position = moved(model_, position, Move::into);
    EXPECT_EQ(position.place, start + steps);
    for (uint32_t n = 0; n < steps; ++n) position = moved(model_, position, Move::back);
    EXPECT_EQ(position, begin);
  }
}

TEST_F(MinimalPosition, OverLeavesOutWhatWasCaused) {
  EXPECT_EQ(from("Scatter").step(over), "Broadcast");
  EXPECT_EQ(from("DataParallel.__call__").step(over), "aten::to");
  EXPECT_EQ(from("forward").step(over), "aten::to");
  EXPECT_EQ(from("backward").step(over), "aten::item");
  EXPECT_EQ(from("step 0").step(over), kLast) << "nothing follows: the end";
  EXPECT_EQ(from("Broadcast").step(back_over), "Scatter");
  EXPECT_EQ(from("aten::item").step(back_over), "backward");
  EXPECT_EQ(from("aten::to").step(back_over), "forward");
  EXPECT_EQ(from("forward").step(back_over), "step 0")
      << "the caller of the first sibling";
  EXPECT_EQ(from("step 0").step(back_over), "step 0");
}

TEST_F(MinimalPosition, OutAndCaller) {
  EXPECT_EQ(from("scatter images@cpu:0").step(caller), "Scatter");
  EXPECT_EQ(from("aten::linear@cpu:1").step(caller), "aten::linear#2");
  EXPECT_EQ(from("aten::linear#2").step(caller), "DataParallel.__call__")
      << "args.parent, on another thread";
  EXPECT_EQ(from("grad_ready@cpu:1").step(caller), "AddmmBackward0@cpu:1");
  EXPECT_EQ(from("step 0").step(caller), "step 0");
  EXPECT_EQ(from("scatter images@cpu:0").step(out), "Broadcast");
  EXPECT_EQ(from("Scatter").step(out), "aten::to");
  EXPECT_EQ(from("AddmmBackward0@cpu:0").step(out), "AddmmBackward0#2");
  EXPECT_EQ(from("aten::item").step(out), kLast);
}

TEST_F(MinimalPosition, MovementsPhasesAndSteps) {
  EXPECT_EQ(from("step 0").step(movement), "scatter images@cpu:0");
  EXPECT_EQ(from("scatter images@cpu:1").step(movement), "replicate parameters@cpu:1");
  EXPECT_EQ(from("loss to the host").step(movement), "loss to the host");
  EXPECT_EQ(from("replicate parameters@cpu:1").step(back_movement),
            "scatter images@cpu:1");
  EXPECT_EQ(from("scatter images@cpu:0").step(back_movement), "scatter images@cpu:0");
  EXPECT_EQ(from("step 0").step(phase), "forward");
  EXPECT_EQ(from("forward").step(phase), "backward");
  EXPECT_EQ(from("backward").step(phase), "backward");
  EXPECT_EQ(from("loss to the host").step(back_phase), "backward");
  EXPECT_EQ(from("backward").step(back_phase), "forward");
  EXPECT_EQ(from("backward").step(step), "backward") << "there is no other step";
  EXPECT_EQ(from("backward").step(back_step), "step 0");
}

TEST_F(MinimalPosition, OrdersNameTheSameEvent) {
  for (const uint32_t event : model_.program) {
    if (model_.events[event].what() == Kind::mark) continue;
    Position position = at_event(model_, event);
    position.progress = 0;
    const Position in_time = in_time_order(model_, position);
    EXPECT_EQ(in_time.time, model_.events[event].ts);
    const Event& back =
        model_.events[event_at(model_, in_program_order(model_, in_time))];
    EXPECT_EQ(back.ts, model_.events[event].ts);
  }
}

TEST_F(MinimalPosition, TimeOrderFindsWhatStartedLastAndStillRuns) {
  const auto at = [&](int64_t ns) { return name_at({Order::time, ns, 0, 0.5f}); };
  EXPECT_EQ(at(0), "step 0");
  EXPECT_EQ(at(3'000), "scatter images@cpu:0") << "4.0 us: the copy has begun";
  EXPECT_EQ(at(21'700), "labels to device 0@cpu:0") << "22.7 us";
  EXPECT_EQ(at(94'000), "step 0") << "only the step still runs";
}

class ParsePosition : public MinimalPosition {
 protected:
  std::optional<std::string> parse(const std::string& text) {
    why_.clear();
    const auto position = parse_position(model_, text, why_);
    EXPECT_EQ(position.has_value(), why_.empty()) << text << ": " << why_;
    return position ? std::optional(name_at(*position)) : std::nullopt;
  }
  std::string why_;
};

TEST_F(ParsePosition, AcceptsStepsPhasesIdsAndTimes) {
  EXPECT_EQ(parse("0"), "step 0");
  EXPECT_EQ(parse("0:backward"), "backward");
  EXPECT_EQ(parse("0:forward"), "forward");
  EXPECT_EQ(parse("#25"), "aten::linear@cpu:1") << "its args.id";
  EXPECT_EQ(parse("@0s"), "step 0");
  const auto time = [&](const char* text) {
    return parse_position(model_, text, why_).value().time;
  };
  EXPECT_EQ(time("@0.0125ms"), 12'500);
  EXPECT_EQ(time("@12.5us"), 12'500);
  EXPECT_EQ(time("@12500ns"), 12'500);
  EXPECT_EQ(time("@95us"), 95'000);
}

// In time order, a call is where its first task begins: when it is made, the devices
// still run what was launched before.
TEST(Position, OfACallInTimeOrderIsThatOfItsFirstTask) {
  const Model model =
      load_file(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/golden/viewer/dp.json.gz");
  std::string why;
  const auto backward = parse_position(model, "2:backward", why);
  ASSERT_TRUE(backward) << why;
  const Event& call = model.events[event_at(model, *backward)];
  int64_t first = INT64_MAX;
  for (uint32_t place = call.order; place <= call.last; ++place) {
    const Event& event = model.events[model.program[place]];
    if (event.is_task() && event.dur > 0) first = std::min<int64_t>(first, event.ts);
  }
  const Position there = at_first_task(model, *backward);
  EXPECT_EQ(in_time_order(model, there).time, first);
  EXPECT_GT(first, call.ts);
  const Position step = at_event(model, model.steps[0].event);
  EXPECT_EQ(at_first_task(model, step).place, step.place);
}

TEST(ParseAction, GoesToAPassOfAPipeline) {
  const Model model = test::made("model-parallel", R"(
phase step 0 0 99000 kind=train batch=8
phase forward 0 100 400 action="1F0" stage=1 micro_batch=0
phase backward 0 2000 400 action="1B0" stage=1 micro_batch=0
op other 0 3000 400 action="0B3"
)")
                          .model();
  std::string why;
  for (const char* place : {"3:1B0", "1B0", "rank0:3:1B0"}) {
    const auto at = parse_position(model, place, why);
    ASSERT_TRUE(at) << place << ": " << why;
    EXPECT_EQ(model.name_of(model.events[event_at(model, *at)]), "backward") << place;
  }
  EXPECT_FALSE(parse_position(model, "3:0B3", why)) << "no pass is called that";
  EXPECT_EQ(why,
            "step 3 has no action '0B3'; its pipeline has the stages 0 to 1 and the "
            "micro-batches 0 to 0");
  EXPECT_FALSE(parse_position(model, "4:1B0", why));
  EXPECT_NE(why.find("no step '4'"), std::string::npos) << why;
  const Model other = test::made("dp", "phase step 0 0 99 kind=train\n").model();
  EXPECT_FALSE(parse_position(other, "0F0", why));
  EXPECT_EQ(why, "the trace has no action '0F0': it ran no pipeline");
}

TEST_F(ParsePosition, AcceptsNamesInsideEachOther) {
  EXPECT_EQ(parse("0:DataParallel.__call__"), "DataParallel.__call__");
  EXPECT_EQ(parse("0:aten::linear"), "aten::linear#1");
  EXPECT_EQ(parse("0:backward/AddmmBackward0"), "AddmmBackward0#1");
  EXPECT_EQ(parse("0:forward/Gather"), "Gather");
  EXPECT_EQ(parse("0:backward/Gather"), std::nullopt);
  EXPECT_EQ(why_, "step 0 has no phase, call or operation 'Gather' in backward");
  EXPECT_EQ(parse("0:forward/"), std::nullopt);
}

TEST_F(ParsePosition, RefusesTheRestWithASentence) {
  for (const char* text :
       {"",         "1",     "-1",      "x",     "0:sideways", "0:",
        ":forward", "#",     "#99",     "#-1",   "#1x",        "#99999999999999999999",
        "@",        "@5",    "@ms",     "@-1ms", "@1h",        "@96us",
        "@nans",    "@infs", "@1e300s", "0.5"}) {
    EXPECT_EQ(parse(text), std::nullopt) << text;
    EXPECT_FALSE(why_.empty()) << text;
    EXPECT_EQ(why_.find('\n'), std::string::npos);
  }
}

TEST(Position, StepsFollowEachOther) {
  std::string events;
  for (int step = 0; step < 3; ++step) {
    const std::string number = std::to_string(step + 4);
    events += (step == 0 ? "" : ",") +
              std::string(R"({"ph":"X","cat":"phase","name":)") +
              R"("step","pid":0,"tid":0,"ts":)" + std::to_string(step * 100) +
              R"(,"dur":90,"args":{"id":)" + std::to_string(10 * step) + R"(,"step":)" +
              number + "}}," +
              x_event(std::to_string(step * 100 + 5), "9", R"("step":)" + number);
  }
  const Model model = load_events(events);
  expect_valid(model);
  ASSERT_EQ(model.steps.size(), 3u);
  std::string why;
  Position position = *parse_position(model, "4", why);
  position = moved(model, position, Move::step);
  EXPECT_EQ(position, parse_position(model, "5", why));
  position = moved(model, moved(model, position, Move::into), Move::step);
  EXPECT_EQ(position, parse_position(model, "6", why));
  EXPECT_EQ(moved(model, position, Move::step), position);
  position = moved(model, moved(model, position, Move::into), Move::back_step);
  EXPECT_EQ(position, parse_position(model, "6", why));
  EXPECT_EQ(moved(model, position, Move::back_step), parse_position(model, "5", why));
}

}  // namespace
}  // namespace lockstep::gui

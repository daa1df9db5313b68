// How one moves in a trace: the program order of minimal.json was written by hand.
#include "gui/model/position.h"

#include <optional>
#include <random>

#include "gui/model/details.h"
#include "tests/gui/model/valid.h"

namespace lockstep::gui {
namespace {

using namespace test;  // NOLINT

class MinimalPosition : public ::testing::Test {
 protected:
  Position at(int64_t id) const { return at_event(model_, model_.event_of_id(id)); }

  int64_t id_at(const Position& position) const {
    const Event& event = model_.events[event_at(model_, position)];
    return number_arg(args_of(model_, event), "id");
  }
  /// The id where one arrives.
  int64_t from(int64_t id, Move move) const {
    return id_at(moved(model_, at(id), move));
  }

  Model model_ = load_file(minimal_path());
};

TEST_F(MinimalPosition, IntoVisitsTheProgram) {
  const std::vector<int64_t> expected = {1,  2,  3,  4,  20, 21, 5,  22, 24, 6,  23,
                                         7,  25, 8,  9,  27, 10, 26, 11, 12, 28, 13,
                                         29, 14, 30, 31, 15, 32, 16, 17, 33};
  Position position = moved(model_, {}, Move::first);
  std::vector<int64_t> visited = {id_at(position)};
  while (visited.size() < model_.events.size()) {
    position = moved(model_, position, Move::into);
    visited.push_back(id_at(position));
  }
  EXPECT_EQ(visited, expected);
  EXPECT_EQ(moved(model_, position, Move::into), position) << "stays at the end";
  EXPECT_EQ(position, moved(model_, {}, Move::last));
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
  EXPECT_EQ(from(4, Move::over), 5);
  EXPECT_EQ(from(3, Move::over), 10);
  EXPECT_EQ(from(2, Move::over), 10);
  EXPECT_EQ(from(11, Move::over), 16);
  EXPECT_EQ(from(1, Move::over), 33) << "nothing follows: the end";
  EXPECT_EQ(from(5, Move::back_over), 4);
  EXPECT_EQ(from(16, Move::back_over), 11);
  EXPECT_EQ(from(10, Move::back_over), 2);
  EXPECT_EQ(from(2, Move::back_over), 1) << "the caller of the first sibling";
  EXPECT_EQ(from(1, Move::back_over), 1);
}

TEST_F(MinimalPosition, OutAndCaller) {
  EXPECT_EQ(from(20, Move::caller), 4);
  EXPECT_EQ(from(25, Move::caller), 7);
  EXPECT_EQ(from(7, Move::caller), 3) << "args.parent, on another thread";
  EXPECT_EQ(from(31, Move::caller), 30);
  EXPECT_EQ(from(1, Move::caller), 1);
  EXPECT_EQ(from(20, Move::out), 5);
  EXPECT_EQ(from(4, Move::out), 10);
  EXPECT_EQ(from(29, Move::out), 14);
  EXPECT_EQ(from(16, Move::out), 33);
}

TEST_F(MinimalPosition, MovementsPhasesAndSteps) {
  EXPECT_EQ(from(1, Move::movement), 20);
  EXPECT_EQ(from(21, Move::movement), 22);
  EXPECT_EQ(from(33, Move::movement), 33);
  EXPECT_EQ(from(22, Move::back_movement), 21);
  EXPECT_EQ(from(20, Move::back_movement), 20);
  EXPECT_EQ(from(1, Move::phase), 2);
  EXPECT_EQ(from(2, Move::phase), 11);
  EXPECT_EQ(from(11, Move::phase), 11);
  EXPECT_EQ(from(33, Move::back_phase), 11);
  EXPECT_EQ(from(11, Move::back_phase), 2);
  EXPECT_EQ(from(11, Move::step), 11) << "there is no other step";
  EXPECT_EQ(from(11, Move::back_step), 1);
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
  const auto id = [&](int64_t ns) { return id_at({Order::time, ns, 0, 0.5f}); };
  EXPECT_EQ(id(0), 1);
  EXPECT_EQ(id(3'000), 20) << "4.0 us: the copy has begun";
  EXPECT_EQ(id(21'700), 26) << "22.7 us";
  EXPECT_EQ(id(94'000), 1) << "only the step still runs";
}

class ParsePosition : public MinimalPosition {
 protected:
  std::optional<int64_t> id(const std::string& text) {
    why_.clear();
    const auto position = parse_position(model_, text, why_);
    EXPECT_EQ(position.has_value(), why_.empty()) << text << ": " << why_;
    return position ? std::optional(id_at(*position)) : std::nullopt;
  }
  std::string why_;
};

TEST_F(ParsePosition, AcceptsStepsPhasesIdsAndTimes) {
  EXPECT_EQ(id("0"), 1);
  EXPECT_EQ(id("0:backward"), 11);
  EXPECT_EQ(id("0:forward"), 2);
  EXPECT_EQ(id("#25"), 25);
  EXPECT_EQ(id("@0s"), 1);
  const auto time = [&](const char* text) {
    return parse_position(model_, text, why_).value().time;
  };
  EXPECT_EQ(time("@0.0125ms"), 12'500);
  EXPECT_EQ(time("@12.5us"), 12'500);
  EXPECT_EQ(time("@12500ns"), 12'500);
  EXPECT_EQ(time("@95us"), 95'000);
}

TEST_F(ParsePosition, AcceptsNamesInsideEachOther) {
  EXPECT_EQ(id("0:DataParallel.__call__"), 3);
  EXPECT_EQ(id("0:aten::linear"), 6);
  EXPECT_EQ(id("0:backward/AddmmBackward0"), 13);
  EXPECT_EQ(id("0:forward/Gather"), 9);
  EXPECT_EQ(id("0:backward/Gather"), std::nullopt);
  EXPECT_EQ(why_, "step 0 has no phase, call or operation 'Gather' in backward");
  EXPECT_EQ(id("0:forward/"), std::nullopt);
}

TEST_F(ParsePosition, RefusesTheRestWithASentence) {
  for (const char* text :
       {"",         "1",     "-1",      "x",     "0:sideways", "0:",
        ":forward", "#",     "#99",     "#-1",   "#1x",        "#99999999999999999999",
        "@",        "@5",    "@ms",     "@-1ms", "@1h",        "@96us",
        "@nans",    "@infs", "@1e300s", "0.5"}) {
    EXPECT_EQ(id(text), std::nullopt) << text;
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

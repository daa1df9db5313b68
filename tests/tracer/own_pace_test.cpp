// Steps of ranks that do not wait for each other: counted by hand.
#include <gtest/gtest.h>

#include "tests/tracer/golden.h"
#include "tracer/analysis/split.h"
#include "tracer/analysis/summary.h"

namespace lockstep::tracer {
namespace {

constexpr int64_t kTick = 1'000'000;  ///< ns

/// Adds a step of a rank, in which its device computes all the time.
void add_step(Trace& trace, int rank, int64_t number, int64_t begin, int64_t end,
              Json args) {
  const auto id = static_cast<int64_t>(3 * trace.events.size());
  const auto add = [&](int64_t event, const char* cat, const char* name, int64_t pid) {
    Event made;
    made.id = event, made.cat = cat, made.name = name, made.step = number;
    made.pid = pid, made.ts = begin * kTick, made.dur = (end - begin) * kTick;
    args["rank"] = rank;
    made.args = Args(args);
    trace.events.push_back(made);
    return &trace.events.back();
  };
  args["kind"] = "train", args["batch"] = 8;
  add(id, categories::phase, "step", rank);
  add(id + 1, categories::op, "conv", rank)->dur = 0;
  args = {{"device", rank}, {"phase", "forward"}};
  add(id + 2, categories::kernel, "conv", 10 + rank)->op = id + 1;
}

/// Rank 0 makes its three steps from 0 to 30, rank 1 from 0 to 90.
Trace two_ranks(const Json& args) {
  Trace trace;
  trace.lockstep = {{"format", 1}, {"clock", "measured"}, {"mode", "ps"}};
  trace.lockstep["devices"] = {{{"id", 0}, {"name", "cpu:0"}},
                               {{"id", 1}, {"name", "cpu:1"}}};
  for (int64_t step = 0; step < 3; ++step) {
    add_step(trace, 0, step, 10 * step, 10 * step + 10, args);
    add_step(trace, 1, step, 30 * step, 30 * step + 30, args);
  }
  sort_events(trace.events);
  return trace;
}

const Json kPs = {{"servers", 1}, {"consistency", "async"}};

TEST(OwnPace, StepsAddUpToTheTimeThatTheyTook) {
  const Summary summary = summarize(two_ranks(kPs));
  ASSERT_EQ(summary.train.steps.size(), 3u);
  EXPECT_TRUE(summary.train.at_own_pace());
  for (const StepSummary& step : summary.train.steps) {
    EXPECT_EQ(step.length, 30 * kTick);
    EXPECT_EQ(step.batch, 16);
    EXPECT_EQ(step.path, 0) << "no path leads through it";
  }
  EXPECT_NE(summary_text(summary).find("at their own pace"), std::string::npos);
  EXPECT_NE(limiting_sentence(summary).find("at their own pace"), std::string::npos);
}

TEST(OwnPace, ADeviceCountsInWhicheverStepItIs) {
  const Summary summary = summarize(two_ranks(kPs));
  const auto& steps = summary.train.steps;
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].split.spent[Spent::computing], 2 * 30 * kTick) << "3 steps of 0";
  EXPECT_EQ(steps[1].split.spent[Spent::computing], 30 * kTick);
  EXPECT_EQ(steps[1].split.spent[Spent::imbalance], 30 * kTick) << "rank 0 has ended";
}

TEST(OwnPace, IsThatOfModesWithoutAMeetingInEachStep) {
  const auto own = [](const Json& args) {
    return summarize(two_ranks(args)).train.at_own_pace();
  };
  EXPECT_TRUE(own({{"servers", 1}, {"consistency", "ssp"}}));
  EXPECT_TRUE(own({{"worker", 0}, {"update_rule", "store"}}));
  EXPECT_TRUE(own({{"servers", 1}, {"consistency", "sync"}, {"backup", 1}}));
  EXPECT_FALSE(own({{"servers", 1}, {"consistency", "sync"}}));
  EXPECT_FALSE(own(Json::object()));
}

TEST(OwnPace, OtherStepsLastFromTheFirstRankToTheLast) {
  const Summary summary = summarize(two_ranks(Json::object()));
  ASSERT_EQ(summary.train.steps.size(), 3u);
  EXPECT_EQ(summary.train.steps[1].length, (60 - 10) * kTick);
  EXPECT_EQ(summary_text(summary).find("at their own pace"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::tracer

// What is left of a recording that ends early, and what is said of it.
#include "tracer/format/partial.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/tracer/record/recorded_steps.h"
#include "tracer/kineto/kineto.h"
#include "tracer/record/journal.h"

namespace lockstep::tracer {
namespace {

Event event_of(int64_t rank, int64_t step, const char* name, int64_t id) {
  Event event;
  event.cat = "phase";
  event.name = name;
  event.pid = 100 * rank;
  event.id = id;
  event.step = step;
  event.ts = id;
  event.args["rank"] = rank;
  return event;
}

/// Rank 0 has completed steps 0 and 1, rank 1 step 0, rank 2 none.
Trace of_three(const std::string& mode) {
  Trace trace;
  trace.lockstep = {{"mode", mode}, {"steps", 9}};
  trace.events = {event_of(0, 0, "step", 1),    event_of(1, 0, "step", 2),
                  event_of(2, 0, "forward", 3), event_of(0, 1, "step", 4),
                  event_of(1, 1, "forward", 5), event_of(0, 2, "forward", 6)};
  return trace;
}

std::vector<int64_t> ids_left(const Trace& trace) {
  std::vector<int64_t> ids;
  for (const Event& event : trace.events) ids.push_back(event.id);
  return ids;
}

TEST(Partial, RanksThatShareStepsKeepThoseThatAllHaveCompleted) {
  Trace trace = of_three("ddp");
  EXPECT_EQ(keep_complete_steps(trace), kNone);
  EXPECT_TRUE(trace.events.empty());
  trace = of_three("ddp");
  std::erase_if(trace.events, [](const Event& event) { return event.pid == 200; });
  EXPECT_EQ(keep_complete_steps(trace), 0);
  EXPECT_EQ(ids_left(trace), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(trace.lockstep["steps"], 1);
}

TEST(Partial, RanksAtTheirOwnPaceKeepTheirOwnSteps) {
  Trace trace = of_three("hogwild");
  for (Event& event : trace.events) event.args["worker"] = event.args["rank"];
  EXPECT_EQ(keep_complete_steps(trace), 1);
  EXPECT_EQ(ids_left(trace), (std::vector<int64_t>{1, 2, 4}));
}

// Of a server everything is kept, but what waits for the unfinished.
TEST(Partial, AServerHasNoSteps) {
  Trace trace = of_three("ps");
  trace.lockstep["workers"] = 2;
  trace.events[0].args["consistency"] = "async";
  trace.events[2].deps = {6};
  trace.events.push_back(event_of(2, 7, "optimizer", 7));
  trace.events.push_back(event_of(2, 7, "optimizer", 8));
  trace.events.back().op = 6;  // erased, since worker 0 has not completed it
  EXPECT_EQ(keep_complete_steps(trace), 7);
  EXPECT_EQ(ids_left(trace), (std::vector<int64_t>{1, 2, 3, 4, 7}));
  EXPECT_TRUE(trace.events[2].deps.empty());
}

TEST(Partial, SaysWhatThereIs) {
  EXPECT_EQ((Partial{{0, 2}, 3, 5}).text(),
            "ranks 0, 2 of 3; it ends early, after step 5");
  EXPECT_EQ((Partial{{1}, 2}).text(), "rank 1 of 2");
  EXPECT_EQ((Partial{{0}, 1, 5}).text(), "it ends early, after step 5");
  Trace trace;
  set_partial(trace, {{0, 2}, 3, 5});
  EXPECT_EQ(partial_of(trace)->text(), (Partial{{0, 2}, 3, 5}).text());
  EXPECT_FALSE(partial_of(Trace()));
}

// `trace merge` leaves such a file out, and names it.
TEST(Partial, OpeningAFileWithoutACompleteStepSaysSo) {
  const std::string file =
      ::testing::TempDir() + "partial-" + std::to_string(::getpid()) + ".json.partial";
  ASSERT_EQ(open_journal(file, recorded::description()), "");
  start_recording();
  recorded::make_task(0);
  stop_recording();
  EXPECT_THROW(open_trace(file), NoCompleteStep);
  collect();
  remove_journal();
  set_origin(0);
}

}  // namespace
}  // namespace lockstep::tracer

// What streams that run nothing wait for. Times in µs; the first event starts at 0.
#include "gui/model/waiting.h"

#include <gtest/gtest.h>

#include "gui/panels/stage_parts.h"
#include "tests/gui/model/made_trace.h"

namespace lockstep::gui {
namespace {

// Host: a copy is enqueued at 10, then kernels at 20 and 30 and a copy at 40. Device 0
// receives until 50. Its first kernel is ready then and gets a core at 60; the second
// is ready at 70, when the first ends, and starts at once. The copy to device 1 needs
// the port that another copy holds until 90, and starts at 95.
constexpr const char* kLines = R"(
  phase step 0 0 200
  op to 0 10 5
  op conv2d 0 20 5
  op relu 0 30 5
  op scatter 0 40 5
  copy h2d 1 12 38 op=2 why=h2d src=host dst=0 bytes=8
  kernel conv2d 1 60 10 op=3 deps=[6] queued_us=10
  kernel relu 1 70 10 op=4 queued_us=0
  copy other 2 45 45 op=5 why=p2p src=0 dst=1 bytes=8
  copy scatter 3 95 5 op=5 why=scatter src=0 dst=2 bytes=8 port_held_by=9
)";

class WaitingTest : public ::testing::Test {
 protected:
  const Model model_ = test::made("dp", kLines).model();

  std::string words(int device, int us) const {
    return waiting_words(model_, waiting_on(model_, device, us * int64_t{1000}));
  }
};

TEST_F(WaitingTest, IdleMeansThatNothingWasEnqueued) {
  EXPECT_EQ(words(0, 5), "idle");
  EXPECT_EQ(words(0, 19), "idle");  // conv2d is enqueued from 20 on
  EXPECT_EQ(words(0, 85), "idle");  // everything is done
}

TEST_F(WaitingTest, ATaskWaitsForTheEventThatEndsLast) {
  EXPECT_EQ(words(0, 21), "waits for h2d: conv2d");
  EXPECT_EQ(words(0, 49), "waits for h2d: conv2d");
}

TEST_F(WaitingTest, OnceEverythingIsDoneItWaitsForACore) {
  EXPECT_EQ(words(0, 50), "waits for a core: conv2d");
  EXPECT_EQ(words(0, 59), "waits for a core: conv2d");
}

TEST_F(WaitingTest, ACopyNeedsNoCore) {
  const Model model = test::made("dp", R"(
    phase step 0 0 200
    op to 0 10 5
    copy h2d 1 60 10 op=2 why=h2d src=host dst=0 bytes=8 queued_us=40
  )")
                          .model();
  EXPECT_EQ(waiting_words(model, waiting_on(model, 0, 50'000)),
            "enqueued: h2d from host");
}

TEST_F(WaitingTest, AStreamThatRunsSomethingDoesNotWait) {
  const Model model = test::made("dp", R"(
    phase step 0 0 200
    op reduce 0 10 5
    collective all_reduce 1 20 100 op=2
    collective next 1 130 10 op=2
  )")
                          .model();
  EXPECT_EQ(waiting_on(model, 0, 30'000).cause, Waiting::For::nothing);
}

TEST_F(WaitingTest, ACopyWaitsForAPort) {
  EXPECT_EQ(words(2, 39), "idle");
  EXPECT_EQ(words(2, 50), "waits for a port: scatter from device 0");
  EXPECT_EQ(words(2, 92), "enqueued: scatter from device 0");  // why, is not recorded
}

TEST_F(WaitingTest, NothingIsSaidOfOtherProgramsTraces) {
  const Model model = test::made("", kLines).model();
  for (int us = 0; us < 100; ++us) {
    for (const Lane& lane : model.lanes) {
      EXPECT_EQ(waiting_on(model, lane, us * int64_t{1000}).cause,
                Waiting::For::nothing);
    }
  }
}

TEST_F(WaitingTest, TellsHowLongATaskWasQueued) {
  std::vector<int64_t> queued;
  for (const Event& event : model_.events) {
    if (event.is_task()) queued.push_back(queued_before(model_, event));
  }
  EXPECT_EQ(queued, (std::vector<int64_t>{0, 0, 10'000, 0, 0}));
}

}  // namespace
}  // namespace lockstep::gui

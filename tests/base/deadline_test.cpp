#include "base/deadline.h"

#include <gtest/gtest.h>

#include <climits>

namespace lockstep {
namespace {

using std::chrono::hours;

TEST(Deadline, TimeoutsStayWithinAYear) {
  EXPECT_EQ(within_reason(Milliseconds(-5)), Milliseconds(0));
  EXPECT_EQ(within_reason(Milliseconds::min()), Milliseconds(0));
  EXPECT_EQ(within_reason(Milliseconds(5)), Milliseconds(5));
  EXPECT_EQ(within_reason(Milliseconds::max()), hours(8760));
}

TEST(Deadline, AnEndlessTimeoutDoesNotOverflow) {
  const TimePoint before = Clock::now();
  EXPECT_GE(deadline_after(Milliseconds::max()), before + hours(8760));
  const TimePoint passed = deadline_after(Milliseconds(-1));
  EXPECT_GE(passed, before);
  EXPECT_LE(passed, Clock::now());
}

TEST(Deadline, PollWaitsForWholeMilliseconds) {
  EXPECT_EQ(poll_timeout(Clock::now()), 0);
  EXPECT_EQ(poll_timeout(Clock::now() - hours(1)), 0);
  EXPECT_EQ(poll_timeout(Clock::now() + hours(8760)), INT_MAX);
  // A remaining fraction of a millisecond is rounded up.
  const TimePoint deadline = Clock::now() + hours(1);
  const int left = poll_timeout(deadline);
  EXPECT_GE(Milliseconds(left), deadline - Clock::now());
  EXPECT_LE(Milliseconds(left), hours(1));
}

}  // namespace
}  // namespace lockstep

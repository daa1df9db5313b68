#include "engine/train/stop_notice.h"

#include <gtest/gtest.h>

#include <csignal>

namespace lockstep::train {
namespace {

TEST(StopNotice, HoldsFromItsStepOn) {
  const auto store = std::make_shared<distributed::HashStore>();
  StopNotice mine(store), other(store);
  EXPECT_EQ(other.read_after(7), 0);
  mine.give(7, SIGTERM);
  EXPECT_EQ(other.read_after(6), 0);  // a rank that is slower stops at the same step
  EXPECT_EQ(other.read_after(7), SIGTERM);
  EXPECT_EQ(other.read_after(8), SIGTERM);
  other.give(8, SIGINT);  // too late
  EXPECT_EQ(mine.read_after(7), SIGTERM);
}

}  // namespace
}  // namespace lockstep::train

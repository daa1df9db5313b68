// sanitize: address thread
#include "engine/sharing/death_watch.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>

namespace lockstep::sharing {
namespace {

struct SharedDeathWatches : testing::Test {
  void SetUp() override { SharedState::construct(memory.get()); }
  SharedState& state() { return *reinterpret_cast<SharedState*>(memory.get()); }
  std::shared_ptr<char[]> memory{new char[sizeof(SharedState)]()};
};

/// A thread that ends while it holds a robust mutex is to the kernel what a process is
/// that dies with it.
void live_and_die(Life& life) {
  std::thread([&] {
    life.alive.lock();
    life.presence = Presence::here;
  }).join();
}

TEST_F(SharedDeathWatches, NameTheDeadToAllOthers) {
  std::promise<int> first, second;
  const DeathWatch a(state(), 0, 3, [&](int dead) { first.set_value(dead); });
  const DeathWatch b(state(), 1, 3, [&](int dead) { second.set_value(dead); });
  live_and_die(state().lives[2]);
  EXPECT_EQ(first.get_future().get(), 2);
  EXPECT_EQ(second.get_future().get(), 2);
}

TEST_F(SharedDeathWatches, OneThatLeavesHasNotDied) {
  std::promise<int> found;
  const DeathWatch mine(state(), 0, 4, [&](int dead) { found.set_value(dead); });
  {
    const DeathWatch ends(state(), 1, 4, [](int) {});
  }
  live_and_die(state().lives[2]);
  EXPECT_EQ(found.get_future().get(), 2) << "not 1, which left before";
  EXPECT_EQ(state().lives[1].presence, Presence::left);
  EXPECT_EQ(state().lives[3].presence, Presence::not_yet);
}

}  // namespace
}  // namespace lockstep::sharing

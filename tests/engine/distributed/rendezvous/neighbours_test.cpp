// Machines of ranks, as ranks in threads would see them if they ran on several; clocks.
// sanitize: thread
#include "engine/distributed/rendezvous/neighbours.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/monotonic.h"
#include "engine/distributed/rendezvous/clocks.h"

namespace lockstep::distributed {
namespace {

std::vector<Neighbours> met(const std::vector<std::string>& machines) {
  HashStore store(std::chrono::seconds(60));
  std::vector<Neighbours> all(machines.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < machines.size(); ++rank) {
    threads.emplace_back([&, rank] {
      all[rank] =
          meet_neighbours(store, static_cast<int>(rank),
                          static_cast<int>(machines.size()), "", machines[rank]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return all;
}

TEST(StoreNeighbours, RanksOfOneMachineUseLoopback) {
  for (const Neighbours& here : met({"a", "a", "a"})) {
    EXPECT_EQ(here.machines(), 1);
    EXPECT_EQ(here.address, "127.0.0.1");
    EXPECT_EQ(here.local_world(2), 3);
    EXPECT_EQ(here.local_rank(2), 2);
  }
}

/// With cyclic placement, a rank's number says nothing about its GPU.
TEST(StoreNeighbours, RanksAreCountedOnTheirMachine) {
  const Neighbours alone = met({"a"})[0];
  EXPECT_EQ(alone.local_rank(0), 0);
  Neighbours cyclic;
  cyclic.machine_of = {0, 1, 0, 1, 0};
  EXPECT_EQ(cyclic.machines(), 2);
  EXPECT_EQ(cyclic.local_rank(2), 1);
  EXPECT_EQ(cyclic.local_rank(3), 1);
  EXPECT_EQ(cyclic.local_rank(4), 2);
  EXPECT_EQ(cyclic.local_world(1), 2);
  EXPECT_TRUE(cyclic.share_machine(1, 3));
  EXPECT_FALSE(cyclic.share_machine(0, 1));
}

TEST(StoreClocks, TheShortestRoundTripCounts) {
  const ClockSample best = compare_clocks(
      {{1'000, 51'500, 2'000}, {3'000, 53'050, 3'100}, {5'000, 56'000, 9'000}});
  EXPECT_EQ(best.at_ns, 3'050);
  EXPECT_EQ(best.offset_ns, 50'000);
  EXPECT_EQ(best.round_trip_ns, 100);
}

TEST(StoreClocks, AProcessOfRankZerosMachineReadsRankZerosClock) {
  HashStore store(std::chrono::seconds(60));
  RankClock zero(store, 0, "127.0.0.1");
  RankClock one(store, 1, "127.0.0.1");
  EXPECT_TRUE(zero.is_reference() && one.is_reference());
  EXPECT_EQ(one.name(), zero.name());
  one.compare();
  EXPECT_TRUE(one.samples().empty());
}

TEST(StoreClocks, TheServerTellsTheTime) {
  TcpStoreServer server;
  TcpStore store("127.0.0.1", server.port());
  const int64_t before = monotonic_ns();
  const int64_t theirs = store.server_clock();
  EXPECT_LE(before, theirs);
  EXPECT_LE(theirs, monotonic_ns());
}

TEST(StoreClocks, AnotherMachinesClockIsComparedEachTime) {
  HashStore store(std::chrono::seconds(60));
  RankClock zero(store, 0, "127.0.0.1");
  store.set("clock", store.get("clock").substr(0, store.get("clock").rfind(' ')) +
                         " another-boot");
  RankClock one(store, 1, "127.0.0.1");
  EXPECT_FALSE(one.is_reference());
  one.compare();
  ASSERT_EQ(one.samples().size(), 2u);
  for (const ClockSample& sample : one.samples()) {
    EXPECT_LE(std::abs(sample.offset_ns), sample.round_trip_ns);
  }
}

}  // namespace
}  // namespace lockstep::distributed

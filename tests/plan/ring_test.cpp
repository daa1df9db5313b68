// The ring: runs its schedules on numbers and counts the traffic.
#include "engine/plan/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace lockstep::plan {
namespace {

using Steps = std::vector<RingStep>;
using Buffers = std::vector<std::vector<int64_t>>;  // per rank

constexpr int kWorlds[] = {1, 2, 3, 4, 5, 8, 9, 16};
constexpr int64_t kNumels[] = {0, 1, 3, 7, 16, 97, 1000003};

/// The value of element `i`. Each rank's share uses a separate bit, so that a missing
/// or duplicate share changes the sum.
int64_t share(int rank, int64_t i) { return (int64_t{1} << rank) * (i % 1000 + 1); }
int64_t sum(int world, int64_t i) { return share(world, i) - share(0, i); }

Buffers shares(int world, int64_t numel) {
  Buffers buffers(world);
  for (int rank = 0; rank < world; ++rank) {
    for (int64_t i = 0; i < numel; ++i) buffers[rank].push_back(share(rank, i));
  }
  return buffers;
}

/// Runs one step of all ranks at once: each sends the data from before the step.
void run(Buffers& buffers, Steps (*schedule)(int, int)) {
  const int world = static_cast<int>(buffers.size());
  const auto chunks = ring_chunks(buffers[0].size(), world);
  for (size_t step = 0; step < schedule(0, world).size(); ++step) {
    const Buffers before = buffers;
    for (int rank = 0; rank < world; ++rank) {
      const RingStep mine = schedule(rank, world).at(step);
      const RingStep left = schedule(mine.receive_from, world).at(step);
      ASSERT_EQ(left.send_to, rank);
      ASSERT_EQ(left.send_chunk, mine.receive_chunk);
      const ChunkRange range = chunks.at(mine.receive_chunk);
      for (int64_t i = range.first; i < range.first + range.count; ++i) {
        const int64_t arrived = before[mine.receive_from][i];
        buffers[rank][i] = mine.reduces ? buffers[rank][i] + arrived : arrived;
      }
    }
  }
}

TEST(Ring, FourRanksByHand) {
  EXPECT_EQ(ring_reduce_scatter(1, 4),
            (Steps{{2, 0, 0, 3, true}, {2, 0, 3, 2, true}, {2, 0, 2, 1, true}}));
  EXPECT_EQ(ring_all_gather(1, 4),
            (Steps{{2, 0, 1, 0, false}, {2, 0, 0, 3, false}, {2, 0, 3, 2, false}}));
}

TEST(Ring, AllReduceIsTheTwoHalves) {
  for (const int world : kWorlds) {
    for (int rank = 0; rank < world; ++rank) {
      Steps halves = ring_reduce_scatter(rank, world);
      EXPECT_EQ(halves.size(), world - 1u);
      for (const RingStep& step : ring_all_gather(rank, world)) halves.push_back(step);
      EXPECT_EQ(ring_all_reduce(rank, world), halves);
    }
  }
  EXPECT_TRUE(ring_all_reduce(0, 1).empty());
}

TEST(Ring, AllReduceLeavesTheSumEverywhere) {
  for (const int world : kWorlds) {
    for (const int64_t numel : {0, 1, 3, 7, 16, 97}) {
      Buffers buffers = shares(world, numel);
      run(buffers, ring_all_reduce);
      for (const auto& buffer : buffers) {
        for (int64_t i = 0; i < numel; ++i) ASSERT_EQ(buffer[i], sum(world, i));
      }
    }
  }
}

TEST(Ring, ReduceScatterLeavesChunkRAtRankR) {
  for (const int world : kWorlds) {
    Buffers buffers = shares(world, 97);
    run(buffers, ring_reduce_scatter);
    for (int rank = 0; rank < world; ++rank) {
      const ChunkRange own = ring_chunks(97, world)[rank];
      for (int64_t i = own.first; i < own.first + own.count; ++i) {
        EXPECT_EQ(buffers[rank][i], sum(world, i));
      }
    }
  }
}

TEST(Ring, AllGatherSpreadsChunkROfRankR) {
  for (const int world : kWorlds) {
    Buffers buffers = shares(world, 97);
    run(buffers, ring_all_gather);
    for (int owner = 0; owner < world; ++owner) {
      const ChunkRange own = ring_chunks(97, world)[owner];
      for (int64_t i = own.first; i < own.first + own.count; ++i) {
        for (const auto& buffer : buffers) EXPECT_EQ(buffer[i], share(owner, i));
      }
    }
  }
}

TEST(RingChunks, AreConsecutiveAndEqualToOneElement) {
  for (const int world : kWorlds) {
    for (const int64_t numel : kNumels) {
      const auto chunks = ring_chunks(numel, world);
      ASSERT_EQ(chunks.size(), static_cast<size_t>(world));
      int64_t next = 0;
      for (const ChunkRange& chunk : chunks) {
        EXPECT_EQ(chunk.first, next);
        EXPECT_GE(chunk.count, numel / world);
        EXPECT_LE(chunk.count, (numel + world - 1) / world);
        next += chunk.count;
      }
      EXPECT_EQ(next, numel);
    }
  }
}

/// The bytes that a rank sends in one all-reduce.
int64_t sent(int rank, int world, int64_t numel, int64_t element_size) {
  int64_t elements = 0;
  const auto chunks = ring_chunks(numel, world);
  for (const RingStep& step : ring_all_reduce(rank, world)) {
    elements += chunks.at(step.send_chunk).count;
  }
  return elements * element_size;
}

// An empty chunk is also a message: the schedule does not depend on the size.
TEST(RingTraffic, OfEachRankAndOfAll) {
  for (const int world : kWorlds) {
    for (const int64_t numel : kNumels) {
      for (const int64_t element_size : {4, 8}) {
        const int64_t total = 2 * (world - 1) * numel * element_size;
        int64_t all = 0;
        for (int rank = 0; rank < world; ++rank) {
          EXPECT_EQ(ring_all_reduce(rank, world).size(), 2u * (world - 1));
          const int64_t bytes = sent(rank, world, numel, element_size);
          const int64_t off_times_world = std::abs(bytes * world - total);
          EXPECT_LE(off_times_world, element_size * world)
              << "rank " << rank << " of " << world << ", " << numel << " elements";
          all += bytes;
        }
        EXPECT_EQ(all, total);
      }
    }
  }
}

TEST(RingTraffic, OfResNet18IsThatOfTheResearchNotes) {
  const auto step = [](int world) {
    int64_t bytes = 0;
    for (const int64_t bucket : {2052000, 28852224, 15853824}) {
      bytes += sent(world - 1, world, bucket / 4, 4);
    }
    return bytes;
  };
  EXPECT_EQ(step(2), 46758048);
  EXPECT_EQ(step(4), 70137072);
  EXPECT_EQ(step(8), 81826584);
}

}  // namespace
}  // namespace lockstep::plan

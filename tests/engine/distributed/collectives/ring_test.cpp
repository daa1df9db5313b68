// Collectives on the ring: their results, and failures while ranks wait.
// sanitize: address thread
#include "engine/distributed/collectives/ring.h"

#include <algorithm>
#include <atomic>

#include "engine/ops/op_call.h"
#include "tests/engine/distributed/collectives.h"

namespace lockstep {
namespace {

using distributed::Buffer;
using test::GroupPtr;
using test::mine;
using test::Rank;
using test::ReduceOp;
using test::Values;
using test::Wire;
using test::World;

class RingOf : public testing::TestWithParam<std::tuple<Wire, int>> {
 protected:
  int size() const { return std::get<1>(GetParam()); }
  World world() const { return {size(), std::get<0>(GetParam())}; }
  /// Includes fewer elements than ranks: some chunks are then empty.
  std::vector<int64_t> counts() const { return {0, 1, 2, size() - 1, size(), 1000}; }

  void on_all(test::CollectiveCheck check) const {
    test::check_collective(world(), counts(), check);
  }
};

INSTANTIATE_TEST_SUITE_P(Wires, RingOf,
                         testing::Combine(testing::Values(Wire::local, Wire::tcp),
                                          testing::Range(1, 6)),
                         [](const auto& info) {
                           return test::name(std::get<0>(info.param)) +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(RingOf, AllReduce) { on_all(test::expect_all_reduce); }

// The order of additions differs between elements, not between ranks.
TEST_P(RingOf, AllReduceGivesAllRanksTheSameBits) {
  std::vector<Values> sums(size());
  test::on_ranks(world(), [&](Rank& rank) {
    const std::string stream = "rank " + std::to_string(rank.rank);
    const Tensor tensor =
        test::on(rank.device, test::signed_tensor(stream, {1001}, 1.0 / 3, DType::f32));
    rank.group->all_reduce(tensor).wait();
    sums[rank.rank] = test::values_of(tensor);
  });
  for (const Values& sum : sums) EXPECT_EQ(sum, sums[0]);
}

// Threads leave small messages behind and meet for large ones. One ring has both here:
// the first chunk is larger than the others, by one element.
TEST_P(RingOf, AllReduceOfSmallAndLargeMessages) {
  constexpr int64_t kSmall = (64 << 10) / sizeof(float);
  test::on_ranks(world(), [&](Rank& rank) {
    const Tensor tensor = mine(rank, kSmall * rank.size + 1, DType::f32);
    for (int round = 0; round < 10; ++round) {
      ops::compute_into(OpCode::fill, {tensor}, {tensor}, {}, {1});
      rank.group->all_reduce(tensor).synchronize();
      const Values sums = test::values_of(tensor);
      EXPECT_EQ(std::count(sums.begin(), sums.end(), rank.size), std::ssize(sums));
    }
  });
}

TEST_P(RingOf, BroadcastFromEveryRoot) { on_all(test::expect_broadcast); }

TEST_P(RingOf, ReduceToEveryRootLeavesTheOthersAlone) { on_all(test::expect_reduce); }

TEST_P(RingOf, AllGather) { on_all(test::expect_all_gather); }

TEST_P(RingOf, ReduceScatter) { on_all(test::expect_reduce_scatter); }

// Each pair of ranks numbers its messages separately, so other pairs do not interfere.
TEST_P(RingOf, SendAndReceive) { on_all(test::expect_send_and_receive); }

TEST_P(RingOf, BarrierLetsNobodyPassBeforeAllHaveCome) {
  std::atomic<int> come = 0;
  test::on_ranks(world(), [&](Rank& rank) {
    for (int round = 1; round <= 5; ++round) {
      ++come;
      rank.group->barrier(rank.device);
      EXPECT_GE(come, round * rank.size);
    }
  });
}

// --- failures

class RingFailure : public testing::TestWithParam<Wire> {};
INSTANTIATE_TEST_SUITE_P(Wires, RingFailure, testing::Values(Wire::local, Wire::tcp),
                         [](const auto& info) { return test::name(info.param); });

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// Two ranks call different operations: the first to detect it names both.
template <typename Function>
void expect_disagreement(Wire wire, Function function) {
  const std::string message =
      test::message_of([&] { test::on_ranks({2, wire}, function); });
  EXPECT_TRUE(has(message, "disagrees") && has(message, "rank 0") &&
              has(message, "rank 1"))
      << message;
}

TEST_P(RingFailure, DifferentSizesAreRefused) {
  expect_disagreement(GetParam(), [](Rank& rank) {
    rank.group->all_reduce(mine(rank, 100 + 4 * rank.rank, DType::f32)).synchronize();
  });
}

TEST_P(RingFailure, DifferentCollectivesAreRefused) {
  expect_disagreement(GetParam(), [](Rank& rank) {
    const Tensor tensor = mine(rank, 2, DType::f32);
    (rank.rank == 0 ? rank.group->broadcast(tensor, 0) : rank.group->all_reduce(tensor))
        .synchronize();
  });
}

TEST_P(RingFailure, ADifferentOrderIsRefused) {
  expect_disagreement(GetParam(), [](Rank& rank) {
    for (int64_t count : {rank.rank, 1 - rank.rank}) {
      rank.group->all_reduce(mine(rank, 10 + 10 * count, DType::f32)).synchronize();
    }
  });
}

TEST_P(RingFailure, WhoDoesNotComeIsNamedByThoseWhoWait) {
  // The time-out is for the barrier, too: on a busy machine that takes a while.
  const auto said = test::messages_of_ranks(
      {3, GetParam(), DeviceType::reference, Milliseconds(2500)}, [](Rank& rank) {
        rank.group->barrier(rank.device);  // connects before any rank is late
        if (rank.rank == 2) return;
        rank.group->all_reduce(mine(rank, 9, DType::f64)).synchronize();
      });
  for (int r : {0, 1}) {
    EXPECT_TRUE(has(said[r], "rank 2 did not reach all_reduce #1")) << said[r];
  }
  EXPECT_EQ(said[2], "");
}

TEST_P(RingFailure, AbortWakesWhoeverWaits) {
  const auto said = test::messages_of_ranks({2, GetParam()}, [](Rank& rank) {
    const GroupPtr waiting = rank.everyone[0];
    if (rank.rank == 0) {
      waiting->all_reduce(mine(rank, 9, DType::f64)).synchronize();
    } else {
      while (waiting->last_call().first < 0) std::this_thread::yield();
      waiting->communicator().abort("the house burns");
    }
  });
  EXPECT_TRUE(has(said[0], "the house burns")) << said[0];
}

TEST(RingStart, ARankThatNeverStartedIsNamed) {
  const Milliseconds timeout(200);
  const auto store = std::make_shared<distributed::HashStore>(timeout);
  distributed::Ring ring(
      std::make_unique<distributed::TcpTransport>(store, "127.0.0.1", 0, 2, timeout), 0,
      2, "default");
  float number = 1;
  const std::string message = test::message_of([&] {
    ring.all_reduce({&number, 1, DType::f32}, ReduceOp::sum, {.name = "all_reduce"});
  });
  EXPECT_TRUE(has(message, "rank 1 did not reach all_reduce #0")) << message;
}

TEST(RingGroup, CollectivesUnderWayOutliveTheirGroup) {
  std::vector<test::GroupPtr> groups = test::make_groups({2});
  const Device first{DeviceType::reference, 0}, second{DeviceType::reference, 1};
  const Tensor ours = ops::full_like(Tensor::empty({4}, first), 1);
  const Tensor theirs = ops::full_like(Tensor::empty({4}, second), 2);
  const distributed::Work work = groups[0]->all_reduce(ours);
  groups[0] = nullptr;  // as when an exception destroys its owner
  groups[1]->all_reduce(theirs).synchronize();
  work.synchronize();
  EXPECT_EQ(test::values_of(ours), std::vector<double>(4, 3));
}

}  // namespace
}  // namespace lockstep

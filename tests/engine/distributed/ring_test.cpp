// Collectives around the ring: what they compute, and what happens to those who wait.
#include "engine/distributed/ring.h"

#include <atomic>

#include "tests/engine/distributed/ranks.h"

namespace lockstep {
namespace {

using distributed::Buffer;
using test::GroupPtr;
using test::Rank;
using test::ReduceOp;
using test::Wire;
using test::World;
using Values = std::vector<double>;

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::i64};

class RingOf : public testing::TestWithParam<std::tuple<Wire, int>> {
 protected:
  int size() const { return std::get<1>(GetParam()); }
  World world() const { return {size(), std::get<0>(GetParam())}; }
  /// Fewer elements than ranks, too: then some chunks are empty.
  std::vector<int64_t> counts() const { return {0, 1, 2, size() - 1, size(), 1000}; }

  /// Calls `check(rank, count, type)` on all ranks for all sizes and types.
  template <typename Check>
  void on_all(Check check) const {
    test::on_ranks(world(), [&](Rank& rank) {
      for (DType type : kTypes) {
        for (int64_t count : counts()) check(rank, count, type);
      }
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Wires, RingOf,
                         testing::Combine(testing::Values(Wire::local, Wire::tcp),
                                          testing::Range(1, 6)),
                         [](const auto& info) {
                           return test::name(std::get<0>(info.param)) +
                                  std::to_string(std::get<1>(info.param));
                         });

/// Whole numbers: their sums are exact in every type and order.
Values numbers_of(int rank, int64_t count) {
  Values values(count);
  const uint64_t stream = fnv1a64("rank " + std::to_string(rank));
  for (int64_t i = 0; i < count; ++i) {
    values[i] = std::floor(1000 * test::signed_uniform(i, stream));
  }
  return values;
}

Tensor on(const Rank& rank, const Values& values, DType type) {
  return test::on(rank.device, test::vector(values, type));
}
Tensor mine(const Rank& rank, int64_t count, DType type) {
  return on(rank, numbers_of(rank.rank, count), type);
}

double joined(double a, double b, ReduceOp op) {
  if (op == ReduceOp::sum) return a + b;
  return op == ReduceOp::min ? std::min(a, b) : std::max(a, b);
}

Values reduced(int ranks, int64_t count, ReduceOp op) {
  Values all = numbers_of(0, count);
  for (int r = 1; r < ranks; ++r) {
    const Values more = numbers_of(r, count);
    for (int64_t i = 0; i < count; ++i) all[i] = joined(all[i], more[i], op);
  }
  return all;
}

std::string about(const Rank& rank, int64_t count, DType type) {
  return "rank " + std::to_string(rank.rank) + ", " + std::to_string(count) + " of " +
         lockstep::name(type);
}

TEST_P(RingOf, AllReduce) {
  on_all([](Rank& rank, int64_t count, DType type) {
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
      const Tensor tensor = mine(rank, count, type);
      rank.group->all_reduce(tensor, op).wait();
      EXPECT_EQ(test::values_of(tensor), reduced(rank.size, count, op))
          << about(rank, count, type);
    }
  });
}

// The order of additions differs from element to element, not from rank to rank.
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

TEST_P(RingOf, BroadcastFromEveryRoot) {
  on_all([](Rank& rank, int64_t count, DType type) {
    for (int root = 0; root < rank.size; ++root) {
      const Tensor tensor = mine(rank, count, type);
      rank.group->broadcast(tensor, root).wait();
      EXPECT_EQ(test::values_of(tensor), numbers_of(root, count))
          << about(rank, count, type) << " from " << root;
    }
  });
}

TEST_P(RingOf, ReduceToEveryRootLeavesTheOthersAlone) {
  on_all([](Rank& rank, int64_t count, DType type) {
    for (int root = 0; root < rank.size; ++root) {
      const Tensor tensor = mine(rank, count, type);
      rank.group->reduce(tensor, root, ReduceOp::sum).wait();
      EXPECT_EQ(test::values_of(tensor), rank.rank == root
                                             ? reduced(rank.size, count, ReduceOp::sum)
                                             : numbers_of(rank.rank, count))
          << about(rank, count, type) << " to " << root;
    }
  });
}

TEST_P(RingOf, AllGather) {
  on_all([](Rank& rank, int64_t count, DType type) {
    const Tensor in = mine(rank, count, type);
    const Tensor out = on(rank, Values(count * rank.size, -7), type);
    rank.group->all_gather(out, in).wait();
    Values expected;
    for (int r = 0; r < rank.size; ++r) {
      const Values part = numbers_of(r, count);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    EXPECT_EQ(test::values_of(out), expected) << about(rank, count, type);
    EXPECT_EQ(test::values_of(in), numbers_of(rank.rank, count));
  });
}

TEST_P(RingOf, ReduceScatter) {
  on_all([](Rank& rank, int64_t count, DType type) {
    const int64_t whole = count * rank.size;
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
      const Tensor in = mine(rank, whole, type);
      const Tensor out = on(rank, Values(count, -7), type);
      rank.group->reduce_scatter(out, in, op).wait();
      const Values all = reduced(rank.size, whole, op);
      const auto first = all.begin() + rank.rank * count;
      EXPECT_EQ(test::values_of(out), Values(first, first + count))
          << about(rank, count, type);
      EXPECT_EQ(test::values_of(in), numbers_of(rank.rank, whole)) << "changed";
    }
  });
}

// Pairs of ranks count their messages on their own, so others' do not disturb them.
TEST_P(RingOf, SendAndReceive) {
  on_all([](Rank& rank, int64_t count, DType type) {
    for (int other = 1; other < rank.size; ++other) {
      if (rank.rank == 0) {
        const Tensor answer = on(rank, Values(count, -7), type);
        rank.group->send(mine(rank, count, type), other);
        rank.group->recv(answer, other).wait();
        EXPECT_EQ(test::values_of(answer), numbers_of(other, count));
      } else if (rank.rank == other) {
        const Tensor question = on(rank, Values(count, -7), type);
        rank.group->recv(question, 0).wait();
        rank.group->send(mine(rank, count, type), 0);
        EXPECT_EQ(test::values_of(question), numbers_of(0, count));
      }
    }
  });
}

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

/// Two ranks do different things: the first to notice names both.
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
  const auto said = test::messages_of_ranks(
      {3, GetParam(), DeviceType::reference, test::Milliseconds(200)}, [](Rank& rank) {
        rank.group->barrier(rank.device);  // connections are made before anyone is late
        if (rank.rank == 2) return;
        rank.group->all_reduce(mine(rank, 9, DType::f64)).synchronize();
      });
  for (int r : {0, 1}) {
    EXPECT_TRUE(has(said[r], "rank 2 did not come to all_reduce #1")) << said[r];
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
  const test::Milliseconds timeout(200);
  const auto store = std::make_shared<distributed::HashStore>(timeout);
  distributed::Ring ring(
      std::make_unique<distributed::TcpTransport>(store, "127.0.0.1", 0, 2, timeout), 0,
      2, "default");
  float number = 1;
  const std::string message = test::message_of([&] {
    ring.all_reduce({&number, 1, DType::f32}, ReduceOp::sum, {.name = "all_reduce"});
  });
  EXPECT_TRUE(has(message, "rank 1 did not come to all_reduce #0")) << message;
}

TEST(RingGroup, CollectivesUnderWayOutliveTheirGroup) {
  std::vector<test::GroupPtr> groups = test::make_groups({2});
  const Device first{DeviceType::reference, 0}, second{DeviceType::reference, 1};
  const Tensor ours = ops::full_like(Tensor::empty({4}, first), 1);
  const Tensor theirs = ops::full_like(Tensor::empty({4}, second), 2);
  const distributed::Work work = groups[0]->all_reduce(ours);
  groups[0] = nullptr;  // as when an exception unwinds its owner
  groups[1]->all_reduce(theirs).synchronize();
  work.synchronize();
  EXPECT_EQ(test::values_of(ours), std::vector<double>(4, 3));
}

}  // namespace
}  // namespace lockstep

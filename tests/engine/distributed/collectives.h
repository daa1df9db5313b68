// Checks of the results of collectives on every rank, for `on_ranks`.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/distributed/ranks.h"

namespace lockstep::test {

using Values = std::vector<double>;

inline constexpr DType kCollectiveTypes[] = {DType::f32, DType::f64, DType::i64};

/// Whole numbers: their sums are exact in every type and order.
inline Values numbers_of(int rank, int64_t count) {
  Values values(count);
  const uint64_t stream = fnv1a64("rank " + std::to_string(rank));
  for (int64_t i = 0; i < count; ++i) {
    values[i] = std::floor(1000 * signed_uniform(i, stream));
  }
  return values;
}

inline Tensor on(const Rank& rank, const Values& values, DType type) {
  return on(rank.device, vector(values, type));
}
inline Tensor mine(const Rank& rank, int64_t count, DType type) {
  return on(rank, numbers_of(rank.rank, count), type);
}

inline double joined(double a, double b, ReduceOp op) {
  if (op == ReduceOp::sum) return a + b;
  return op == ReduceOp::min ? std::min(a, b) : std::max(a, b);
}

inline Values reduced(int ranks, int64_t count, ReduceOp op) {
  Values all = numbers_of(0, count);
  for (int r = 1; r < ranks; ++r) {
    const Values more = numbers_of(r, count);
    for (int64_t i = 0; i < count; ++i) all[i] = joined(all[i], more[i], op);
  }
  return all;
}

inline std::string about(const Rank& rank, int64_t count, DType type) {
  return "rank " + std::to_string(rank.rank) + ", " + std::to_string(count) + " of " +
         lockstep::name(type);
}

inline void expect_all_reduce(Rank& rank, int64_t count, DType type) {
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::max}) {
    const Tensor tensor = mine(rank, count, type);
    rank.group->all_reduce(tensor, op).wait();
    EXPECT_EQ(values_of(tensor), reduced(rank.size, count, op))
        << about(rank, count, type);
  }
}

inline void expect_broadcast(Rank& rank, int64_t count, DType type) {
  for (int root = 0; root < rank.size; ++root) {
    const Tensor tensor = mine(rank, count, type);
    rank.group->broadcast(tensor, root).wait();
    EXPECT_EQ(values_of(tensor), numbers_of(root, count))
        << about(rank, count, type) << " from " << root;
  }
}

inline void expect_reduce(Rank& rank, int64_t count, DType type) {
  for (int root = 0; root < rank.size; ++root) {
    const Tensor tensor = mine(rank, count, type);
    rank.group->reduce(tensor, root, ReduceOp::sum).wait();
    EXPECT_EQ(values_of(tensor), rank.rank == root
                                     ? reduced(rank.size, count, ReduceOp::sum)
                                     : numbers_of(rank.rank, count))
        << about(rank, count, type) << " to " << root;
  }
}

inline void expect_all_gather(Rank& rank, int64_t count, DType type) {
  const Tensor in = mine(rank, count, type);
  const Tensor out = on(rank, Values(count * rank.size, -7), type);
  rank.group->all_gather(out, in).wait();
  Values expected;
  for (int r = 0; r < rank.size; ++r) {
    const Values part = numbers_of(r, count);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_EQ(values_of(out), expected) << about(rank, count, type);
  EXPECT_EQ(values_of(in), numbers_of(rank.rank, count));
}

inline void expect_reduce_scatter(Rank& rank, int64_t count, DType type) {
  const int64_t whole = count * rank.size;
  for (ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
    const Tensor in = mine(rank, whole, type);
    const Tensor out = on(rank, Values(count, -7), type);
    rank.group->reduce_scatter(out, in, op).wait();
    const Values all = reduced(rank.size, whole, op);
    const auto first = all.begin() + rank.rank * count;
    EXPECT_EQ(values_of(out), Values(first, first + count)) << about(rank, count, type);
    EXPECT_EQ(values_of(in), numbers_of(rank.rank, whole)) << "the input was modified";
  }
}

inline void expect_send_and_receive(Rank& rank, int64_t count, DType type) {
  for (int other = 1; other < rank.size; ++other) {
    if (rank.rank == 0) {
      const Tensor answer = on(rank, Values(count, -7), type);
      rank.group->send(mine(rank, count, type), other);
      rank.group->recv(answer, other).wait();
      EXPECT_EQ(values_of(answer), numbers_of(other, count));
    } else if (rank.rank == other) {
      const Tensor question = on(rank, Values(count, -7), type);
      rank.group->recv(question, 0).wait();
      rank.group->send(mine(rank, count, type), 0);
      EXPECT_EQ(values_of(question), numbers_of(0, count));
    }
  }
}

using CollectiveCheck = void (*)(Rank&, int64_t count, DType type);
inline constexpr CollectiveCheck kCollectiveChecks[] = {
    expect_all_reduce, expect_broadcast,      expect_reduce,
    expect_all_gather, expect_reduce_scatter, expect_send_and_receive};

/// Runs a check on all ranks for all types and all of these sizes.
inline void check_collective(const World& world, const std::vector<int64_t>& counts,
                             CollectiveCheck check) {
  on_ranks(world, [&](Rank& rank) {
    for (const DType type : kCollectiveTypes) {
      for (const int64_t count : counts) check(rank, count, type);
    }
  });
}

}  // namespace lockstep::test

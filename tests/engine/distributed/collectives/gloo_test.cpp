// Collectives by Gloo: the same results as with our ring, and our own error messages.
// sanitize: address
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "engine/distributed/collectives/local_transport.h"
#include "engine/distributed/collectives/make_communicator.h"
#include "engine/distributed/collectives/ring.h"
#include "engine/distributed/rendezvous/store.h"
#include "tests/engine/distributed/collectives/works.h"
#include "tests/engine/values.h"

namespace lockstep::distributed {
namespace {

using Use = std::function<void(Communicator&)>;

/// Runs `use` on one thread per rank. Returns the error messages.
std::vector<std::string> on_ranks(int size, const char* backend, Milliseconds timeout,
                                  const Use& use) {
  const auto store = std::make_shared<HashStore>(timeout);
  const auto hub = std::make_shared<LocalHub>(size);
  std::vector<std::string> failures(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      failures[rank] = test::message_of([&] {
        std::unique_ptr<Communicator> mine;
        if (backend == std::string("gloo")) {
          mine = make_communicator({"gloo", store, "127.0.0.1", rank, size, timeout});
        } else {
          mine = std::make_unique<Ring>(
              std::make_unique<LocalTransport>(hub, rank, timeout), rank, size, "test");
        }
        use(*mine);
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

class GlooOf : public testing::TestWithParam<std::tuple<DType, int>> {
 protected:
  void SetUp() override {
    if (!has_gloo()) GTEST_SKIP() << "this build has no Gloo: install libgloo-dev";
  }
  int size() const { return std::get<1>(GetParam()); }

  /// Returns each rank's memory after `work` on whole numbers.
  std::vector<std::string> memory_after(const char* backend, const test::Work& work) {
    std::vector<std::string> memory(size());
    const auto failures =
        on_ranks(size(), backend, Milliseconds(20'000), [&](Communicator& mine) {
          memory[mine.rank()] = test::memory_of(mine, work, std::get<0>(GetParam()));
        });
    for (const std::string& failure : failures) EXPECT_EQ(failure, "");
    return memory;
  }
};

INSTANTIATE_TEST_SUITE_P(Worlds, GlooOf,
                         testing::Combine(testing::Values(DType::f32, DType::f64,
                                                          DType::i64, DType::u8),
                                          testing::Range(1, 4)),
                         [](const auto& info) {
                           return std::string(name(std::get<0>(info.param))) +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(GlooOf, EveryCollectiveIsTheSameAsTheRings) {
  for (const test::Work& work : test::works(size())) {
    EXPECT_TRUE(memory_after("gloo", work) == memory_after("ring", work)) << work.name;
  }
}

class Gloo : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gloo()) GTEST_SKIP() << "this build has no Gloo: install libgloo-dev";
  }
  static void all_reduce(Communicator& mine, int64_t count = 1000) {
    std::vector<float> values(count, 1.0f);
    Collective call;
    call.name = "all_reduce";
    call.seq = 7;
    call.bytes = 4 * count;
    mine.all_reduce({values.data(), count, DType::f32}, ReduceOp::sum, call);
  }
};

TEST_F(Gloo, DevicesThatComputeNothingExchangeNothing) {
  const auto failures = on_ranks(2, "gloo", Milliseconds(20'000), [](Communicator& c) {
    if (c.rank() == 0) c.all_reduce({nullptr, 1000, DType::f32}, ReduceOp::sum, {});
  });
  EXPECT_EQ(failures, std::vector<std::string>(2));
}

TEST_F(Gloo, RankThatEndsBreaksTheConnection) {
  const auto failures = on_ranks(3, "gloo", Milliseconds(20'000), [](Communicator& c) {
    if (c.rank() != 1) all_reduce(c);
  });
  EXPECT_EQ(failures[1], "");
  for (int rank : {0, 2}) {
    EXPECT_TRUE(
        failures[rank].starts_with("the connection to a rank broke during "
                                   "all_reduce #7 (4000 B): "))
        << failures[rank];
  }
}

TEST_F(Gloo, RankThatIsLateIsMissed) {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  // The time-out is for the rendezvous, too.
  const auto failures = on_ranks(2, "gloo", Milliseconds(1500), [&](Communicator& c) {
    std::unique_lock lock(mutex);
    if (c.rank() == 1) return changed.wait(lock, [&] { return over; });
    lock.unlock();
    const std::string message = test::message_of([&] { all_reduce(c); });
    lock.lock();
    over = true;
    changed.notify_all();
    throw std::runtime_error(message);
  });
  EXPECT_EQ(failures[0],
            "a rank did not reach all_reduce #7 (4000 B) of rank 0 within 1.5 s");
}

TEST_F(Gloo, RankThatNeverStartsIsNamed) {
  for (int rank : {0, 1}) {
    const auto store = std::make_shared<HashStore>();
    const std::string message = test::message_of([&] {
      make_communicator({"gloo", store, "127.0.0.1", rank, 2, Milliseconds(100)});
    });
    EXPECT_EQ(message, "rank " + std::to_string(1 - rank) +
                           " did not reach Gloo's rendezvous within 0.1 s");
  }
}

TEST_F(Gloo, AbortWakesWhoWaitsAndWhoComesLater) {
  std::latch aborted(1);
  const auto failures = on_ranks(2, "gloo", Milliseconds(20'000), [&](Communicator& c) {
    if (c.rank() == 1) {  // joins only after rank 0 has given up
      aborted.wait();
      return all_reduce(c);
    }
    std::thread other([&] { c.abort("rank 1 failed: test"); });
    const std::string now = test::message_of([&] { all_reduce(c); });
    other.join();
    EXPECT_EQ(test::message_of([&] { all_reduce(c); }), "rank 1 failed: test");
    aborted.count_down();
    throw std::runtime_error(now);
  });
  EXPECT_EQ(failures[0], "rank 1 failed: test");
  EXPECT_NE(failures[1].find("the connection to a rank broke"), std::string::npos)
      << failures[1];
}

}  // namespace
}  // namespace lockstep::distributed

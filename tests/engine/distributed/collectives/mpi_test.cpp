// Collectives by MPI: the same results as with our ring, and our own error messages.
// Started by tests/e2e/mpi_test.py, which has mpirun start several of these processes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "engine/distributed/collectives/local_transport.h"
#include "engine/distributed/collectives/mpi/load_mpi.h"
#include "engine/distributed/collectives/ring.h"
#include "tests/engine/distributed/collectives/works.h"
#include "tests/engine/values.h"

namespace lockstep::distributed {
namespace {

class Mpi : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "this build has no MPI: install libopenmpi-dev";
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (rank == nullptr) GTEST_SKIP() << "mpirun did not start this process";
    rank_ = std::atoi(rank);
    size_ = std::atoi(std::getenv("OMPI_COMM_WORLD_SIZE"));
  }
  std::unique_ptr<Communicator> connected(int timeout_ms = 20'000) const {
    CommunicatorOptions options;
    options.rank = rank_, options.size = size_;
    options.timeout = Milliseconds(timeout_ms);
    return make_mpi(options);
  }
  /// Returns what all ranks of a ring of threads would have.
  std::vector<std::string> of_ring(const test::Work& work, DType type) const {
    const auto hub = std::make_shared<LocalHub>(size_);
    std::vector<std::string> memory(size_);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([&, rank] {
        Ring ring(std::make_unique<LocalTransport>(hub, rank, Milliseconds(20'000)),
                  rank, size_, "test");
        memory[rank] = test::memory_of(ring, work, type);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return memory;
  }
  int rank_ = 0, size_ = 1;
};

TEST_F(Mpi, EveryCollectiveIsTheSameAsTheRings) {
  const std::unique_ptr<Communicator> mpi = connected();
  for (const DType type : {DType::f32, DType::f64, DType::i64, DType::u8}) {
    for (const test::Work& work : test::works(size_)) {
      EXPECT_TRUE(test::memory_of(*mpi, work, type) == of_ring(work, type)[rank_])
          << work.name << " of " << name(type);
    }
  }
}

TEST_F(Mpi, ProcessesThatDisagreeAreTold) {
  const std::unique_ptr<Communicator> mpi = connected();
  std::vector<float> values(8, 1.0f);
  Collective call;
  call.name = rank_ == 1 ? "broadcast" : "all_reduce";
  call.bytes = 32;
  const std::string message = test::message_of(
      [&] { mpi->all_reduce({values.data(), 8, DType::f32}, ReduceOp::sum, call); });
  EXPECT_TRUE(message.starts_with("rank ")) << message;
  EXPECT_NE(message.find(" disagrees with rank "), message.npos) << message;
}

TEST_F(Mpi, LateProcessIsMissed) {
  const std::unique_ptr<Communicator> mpi = connected(200);
  if (rank_ == 1) return;
  std::vector<float> values(8, 1.0f);
  Collective call;
  call.name = "all_reduce";
  call.seq = 7, call.bytes = 32;
  EXPECT_EQ(test::message_of([&] {
              mpi->all_reduce({values.data(), 8, DType::f32}, ReduceOp::sum, call);
            }),
            "a rank did not reach all_reduce #7 (32 B) of rank " +
                std::to_string(rank_) + " within 0.2 s");
}

TEST_F(Mpi, AbortWakesWhoWaits) {
  const std::unique_ptr<Communicator> mpi = connected();
  if (rank_ == 1) return;
  std::vector<float> values(8, 1.0f);
  std::thread other([&] { mpi->abort("rank 1 failed: test"); });
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(test::message_of([&] {
                mpi->all_reduce({values.data(), 8, DType::f32}, ReduceOp::sum, {});
              }),
              "rank 1 failed: test");
  }
  other.join();
}

TEST_F(Mpi, AnotherNumberOfRanksIsAnError) {
  CommunicatorOptions options;
  options.rank = rank_, options.size = size_ + 1;
  const std::string message = test::message_of([&] { make_mpi(options); });
  EXPECT_TRUE(message.starts_with("this is rank " + std::to_string(rank_) + " of " +
                                  std::to_string(size_ + 1) + ", but rank "))
      << message;
}

}  // namespace
}  // namespace lockstep::distributed

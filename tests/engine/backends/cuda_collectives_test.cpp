// Collectives of tensors in GPU memory, simulated and real: with the ring of threads,
// which copies and adds in GPU memory, and with the ring of sockets, which does so in
// main memory.
// sanitize: address thread
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/distributed/collectives.h"
#include "tracer/record/collect.h"

namespace lockstep {
namespace {

using test::Rank;
using test::Wire;
using test::World;

class CudaCollectives : public test::OnCuda {};

void check_all(Wire wire, int most_ranks) {
  for (int size = 1; size <= most_ranks; ++size) {
    for (const test::CollectiveCheck check : test::kCollectiveChecks) {
      test::check_collective({size, wire, DeviceType::cuda}, {1, 2, 1000}, check);
    }
  }
}

TEST_P(CudaCollectives, InTheGpusMemory) { check_all(Wire::local, 4); }

TEST_P(CudaCollectives, ThroughMainMemory) { check_all(Wire::tcp, 3); }

/// The host does not wait. A rank's queue proceeds as soon as the other ranks' queues
/// have read the data that it overwrites next.
TEST_P(CudaCollectives, QueuesWaitForEachOtherFromOneCollectiveToTheNext) {
  constexpr int kRounds = 10, kRanks = 4;
  test::on_ranks({kRanks, Wire::local, DeviceType::cuda}, [](Rank& rank) {
    const Tensor tensor = test::on(rank, test::Values(997, rank.rank + 1), DType::f32);
    distributed::Work last;
    for (int round = 0; round < kRounds; ++round) {
      rank.group->all_reduce(tensor);
      last = rank.group->broadcast(tensor, round % kRanks);
    }
    last.wait();
    const double sum = (1 + 2 + 3 + 4) * std::pow(kRanks, kRounds - 1);
    EXPECT_EQ(test::values_of(tensor), test::Values(997, sum));
  });
}

/// A rank that receives through main memory is ready when its GPU has reached the
/// collective, not when its thread has.
TEST_P(CudaCollectives, ThroughMainMemoryNothingIsSentBeforeTheReceiversTurn) {
  tracer::start_recording();
  test::on_ranks({2, Wire::tcp, DeviceType::cuda}, [](Rank& rank) {
    const Tensor tensor = test::mine(rank, 1000, DType::f32);
    if (rank.rank == 1) {
      Tensor busy = test::on(rank, test::Values(1'000'000, 1), DType::f32);
      for (int i = 0; i < 40; ++i) busy = ops::scale(busy, 1);
    }
    rank.group->broadcast(tensor, 0).synchronize();
  });
  tracer::stop_recording();
  int64_t turn = 0, sent = 0;
  std::string seen;
  for (const tracer::Event& event : tracer::collect()) {
    seen += event.cat + " " + event.name + " of " + std::to_string(event.pid) + ": " +
            std::to_string(event.ts) + " to " + std::to_string(event.end()) + " ns\n";
    if (event.is("collective") && event.pid / 100 == 1) turn = event.ts;
    if (event.is("send")) sent = event.ts;
  }
  ASSERT_GT(turn, 0);
  EXPECT_GE(sent, turn) << seen;
}

TEST_P(CudaCollectives, ALaunchThatFailsHoldsUpNobody) {
  if (real()) GTEST_SKIP() << "the simulated GPU injects the failure";
  const std::string message = test::message_of([] {
    test::on_ranks({2, Wire::local, DeviceType::cuda}, [](Rank& rank) {
      const Tensor bytes = Tensor::empty({100}, rank.device, DType::u8);
      rank.group->all_reduce(bytes).synchronize();
    });
  });
  EXPECT_NE(message.find("a simulated launch failed"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Gpu, CudaCollectives, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep

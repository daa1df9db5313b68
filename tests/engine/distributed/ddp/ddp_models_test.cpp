// The state that DistributedDataParallel keeps equal between ranks, and rejected
// models.
// sanitize: thread
#include "tests/engine/distributed/nets.h"

namespace lockstep {
namespace {

using distributed::DdpOptions;
using distributed::DistributedDataParallel;
using test::Rank;

nn::ModulePtr make_seeded(const Rank& rank, nn::ModulePtr (*make)()) {
  nn::Construction construction;
  construction.dtype = DType::f64;
  construction.seed = 1 + rank.rank;
  nn::ConstructionScope scope(construction);
  const nn::ModulePtr model = make();
  model->assign_paths("");
  return model;
}

/// Running means after two forward passes in which rank r's input is the number r.
std::vector<std::vector<double>> running_means(bool broadcast_buffers) {
  std::vector<std::vector<double>> means(2);
  test::on_ranks({2}, [&](Rank& rank) {
    const nn::ModulePtr model = test::in_double(test::make_batch_norm);
    model->to(rank.device);
    DdpOptions options;
    options.broadcast_buffers = broadcast_buffers;
    DistributedDataParallel ddp(model, rank.group, options);
    const Tensor images =
        ops::full_like(Tensor::empty({2, 2, 4, 4}, rank.device, DType::f64), rank.rank);
    for (int step = 0; step < 2; ++step) {
      const Tensor output = ddp(images);
      EXPECT_EQ(ddp.last_broadcast_bytes(), broadcast_buffers ? 2 * 2 * 8 + 8 : 0);
      test::backward_from(output);
    }
    means[rank.rank] = test::values_of(model->buffers()[0]);
  });
  return means;
}

// mean ← 0.9·mean + 0.1·r, from 0: rank 1 has 0.1 and then 0.19; with rank 0's buffers,
// it starts from 0 and has 0.1.
TEST(DdpModels, BuffersAreRank0sBeforeEachForwardUnlessToldOtherwise) {
  EXPECT_NEAR(running_means(true)[1][0], 0.1, 1e-15);
  EXPECT_NEAR(running_means(false)[1][0], 0.19, 1e-15);
  EXPECT_EQ(running_means(true)[0][0], 0);
}

std::vector<std::string> refusals(int ranks, nn::ModulePtr (*make)(int rank)) {
  return test::messages_of_ranks({ranks}, [&](Rank& rank) {
    const nn::ModulePtr model = make(rank.rank);
    model->assign_paths("");
    model->to(rank.device);
    DistributedDataParallel ddp(model, rank.group);
  });
}

TEST(DdpModels, DifferentShapesAreRefusedByNameOnEveryRank) {
  const auto said = refusals(3, [](int rank) -> nn::ModulePtr {
    return std::make_shared<models::Toy>(rank == 2 ? 6 : 5, 2);
  });
  for (const std::string& message : said) {
    EXPECT_NE(message.find("params[0] (fc.weight) of rank 2 appears not to match sizes "
                           "of the same param on rank 0"),
              message.npos)
        << message;
  }
}

TEST(DdpModels, DifferentNumbersOfParametersAreRefusedOnEveryRank) {
  const auto said = refusals(2, [](int rank) -> nn::ModulePtr {
    if (rank == 0) return std::make_shared<models::Toy>(5, 2);
    return std::make_shared<test::TwoLinears>();
  });
  for (const std::string& message : said) {
    EXPECT_NE(message.find("rank 0 has 2 params, while rank 1 has inconsistent 4"),
              message.npos)
        << message;
  }
}

}  // namespace
}  // namespace lockstep

// Workers against PyTorch's own examples in double precision: Hogwild with one process,
// and the batch parameter server (tests/golden/torch/workers.py).
#include "tests/engine/sharing/pipeline_ways.h"
#include "tests/engine/sharing/worker_ways.h"

namespace lockstep {
namespace {

using sharing::Consistency;
using sharing::LockFor;
using sharing::UpdateBy;
using test::Json;

struct NamedWay {
  const char* name;
  test::Way train;
};

void expect_digests(const std::vector<std::string>& names, const Tensors& tensors,
                    const Json& golden) {
  ASSERT_EQ(names.size(), tensors.size());
  for (size_t i = 0; i < names.size(); ++i) {
    test::expect_fingerprint(names[i], tensors[i], golden.at(names[i]), 1e-9);
  }
}

void expect_golden(const char* file, const std::vector<NamedWay>& ways) {
  const Json golden = test::read_golden(file);
  const Json& sgd = golden["sgd"];
  const test::Problem problem{
      .make = test::make_pipeline_toy,
      .image = golden["image"],
      .classes = golden["classes"],
      .rows = std::vector<int64_t>(golden["losses"].size(), golden["batch"]),
      .cuts = {"2", "4", "6"},
      .devices = golden.value("trainers", 4),
      .optimizer = optim::SgdOptions{sgd["lr"], sgd["momentum"], sgd["weight_decay"]}};
  std::vector<std::string> names;
  for (const auto& named : problem.model(kHost)->named_parameters()) {
    names.push_back(named.name);
  }
  for (const NamedWay& way : ways) {
    SCOPED_TRACE(way.name);
    const test::Outcome mine = way.train(problem);
    for (size_t step = 0; step < mine.losses.size(); ++step) {
      EXPECT_NEAR(mine.losses[step], golden["losses"][step].get<double>(), 1e-12);
    }
    expect_digests(names, mine.gradients[0], golden["gradients"]);
    expect_digests(names, mine.weights, golden["state"]);
  }
}

TEST(GoldenWorkers, OneWorkerTrainsAsPyTorchsHogwildExample) {
  const auto locked = test::shared_memory(UpdateBy::store, LockFor::step);
  expect_golden("workers_hogwild.json",
                {{"locked for the step", test::by_one_worker(locked)},
                 {"single", test::by_one_device}});
}

TEST(GoldenWorkers, SyncServersTrainAsPyTorchsBatchParameterServer) {
  const auto sync = [](int servers) {
    return test::by_workers(test::parameter_servers(servers, Consistency::sync));
  };
  expect_golden("workers_batch_parameter_server.json",
                {{"one server", sync(1)},
                 {"three servers", sync(3)},
                 {"ddp", test::by_ddp},
                 {"dp-criterion", test::by_criterion},
                 {"local-sgd", test::by_local_sgd(1)}});
}

}  // namespace
}  // namespace lockstep

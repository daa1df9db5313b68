// Pipelines against PyTorch in double precision: the same micro-batches through a net
// that PyTorch runs in stages (tests/golden/torch/pipelines.py).
#include <fmt/format.h>

#include <algorithm>

#include "tests/engine/parallel/pipeline_nets.h"

namespace lockstep {
namespace {

using plan::PipelineOrder;
using test::Json;

/// A net of the golden files.
struct GoldenStages {
  const char* name;
  nn::ModulePtr (*make)();
};

nn::ModulePtr make_resnet18_of_stages() {
  return models::make("resnet18", {.stem = models::Stem::cifar});
}

const GoldenStages kLinearStages{"linear", test::make_pipeline_toy};
const GoldenStages kSmallResnetStages{"small_resnet", test::make_pipeline_resnet};
const GoldenStages kResnet18Stages{"resnet18_cifar", make_resnet18_of_stages};

struct GoldenPipeline {
  const GoldenStages& net;
  int64_t batch;
  int micro_batches;

  std::string name() const {
    return fmt::format("pipeline_{}_b{}_m{}", net.name, batch, micro_batches);
  }
};

void expect_fingerprints(const std::vector<nn::Named<Tensor>>& tensors,
                         const Json& golden, bool gradients) {
  for (const auto& [name, tensor] : tensors) {
    if (tensor.dtype() != DType::f64) continue;
    test::expect_fingerprint(name, gradients ? tensor.grad() : tensor, golden.at(name),
                             1e-9);
  }
}

/// Trains with a schedule; compares the losses, the gradients of the first step, and
/// the weights and running statistics after the last step with the golden ones.
void expect_golden_training(const GoldenPipeline& which,
                            const plan::PipelineSchedule& schedule) {
  const Json golden = test::read_golden(which.name() + ".json");
  const nn::ModulePtr model = test::in_double(which.net.make);
  test::fill_golden(*model, DType::f64);
  const auto pipeline = std::make_shared<parallel::PipelineModel>(
      model, test::devices(static_cast<int>(schedule.size())),
      parallel::PipelineOptions{golden["cuts"], schedule, "test"});
  const Json& sgd = golden["sgd"];
  train::TrainStep step(
      model, pipeline,
      optim::SgdOptions{sgd["lr"], sgd["momentum"], sgd["weight_decay"]}, {});
  const auto batch =
      test::Batch::golden(golden["batch"], golden["image"], golden["classes"]);
  for (size_t i = 0; i < golden["losses"].size(); ++i) {
    const double loss = test::pipeline_step(step, *pipeline, batch);
    EXPECT_NEAR(loss, golden["losses"][i].get<double>(), 1e-9) << "step " << i;
    if (i > 0) continue;
    expect_fingerprints(model->named_parameters(), golden["gradients"], true);
  }
  expect_fingerprints(model->named_parameters(), golden["state"], false);
  expect_fingerprints(model->named_buffers(), golden["state"], false);
}

class GoldenPipelines : public testing::TestWithParam<GoldenPipeline> {};

TEST_P(GoldenPipelines, TrainAsPyTorchInDouble) {
  const GoldenPipeline& which = GetParam();
  const auto one_f_one_b =
      plan::pipeline_schedule(PipelineOrder::one_f_one_b, 4, which.micro_batches);
  const Json order = test::read_golden(which.name() + ".json")["schedule"];
  std::string csv;  // the order in which PyTorch ran the micro-batches
  for (const std::string rank : order) csv += rank + '\n';
  std::replace(csv.begin(), csv.end(), ' ', ',');
  EXPECT_EQ(plan::to_csv(one_f_one_b), csv);
  expect_golden_training(which, one_f_one_b);
}

INSTANTIATE_TEST_SUITE_P(Nets, GoldenPipelines,
                         testing::Values(GoldenPipeline{kLinearStages, 12, 4},
                                         GoldenPipeline{kLinearStages, 10, 4},
                                         GoldenPipeline{kLinearStages, 16, 8},
                                         GoldenPipeline{kSmallResnetStages, 12, 4},
                                         GoldenPipeline{kSmallResnetStages, 10, 4}),
                         [](const auto& info) { return info.param.name(); });
INSTANTIATE_TEST_SUITE_P(Large, GoldenPipelines,
                         testing::Values(GoldenPipeline{kResnet18Stages, 8, 4}),
                         [](const auto& info) { return info.param.name(); });

/// The golden numbers do not depend on the schedule.
TEST(GoldenPipeline, TrainsAsPyTorchInterleavedToo) {
  for (const GoldenPipeline& which : {GoldenPipeline{kLinearStages, 16, 8},
                                      GoldenPipeline{kSmallResnetStages, 10, 4}}) {
    expect_golden_training(which, plan::pipeline_schedule(PipelineOrder::interleaved, 2,
                                                          which.micro_batches, 2));
  }
}

}  // namespace
}  // namespace lockstep

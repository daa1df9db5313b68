// Model parallelism: for every schedule, a pipeline with M micro-batches computes the
// same bits as one device that accumulates the gradients of M batches.
#include "engine/train/pipeline_loss.h"
#include "tests/engine/parallel/pipeline_nets.h"

namespace lockstep {
namespace {

using plan::pipeline_schedule;
using plan::PipelineOrder;
using test::by_accumulation;
using test::by_pipeline;
using test::PipelineNet;
using test::PipelineRun;

struct PipelineCase {
  const char* name;
  PipelineOrder order;
  int ranks, micro_batches, stages_per_rank = 1;

  plan::PipelineSchedule schedule() const {
    return pipeline_schedule(order, ranks, micro_batches, stages_per_rank);
  }
};

const PipelineCase kPipelineCases[] = {
    {"naive", PipelineOrder::gpipe, 4, 1},
    {"gpipe", PipelineOrder::gpipe, 4, 4},
    {"one_f_one_b", PipelineOrder::one_f_one_b, 4, 4},
    {"eager", PipelineOrder::eager_one_f_one_b, 4, 6},
    {"interleaved", PipelineOrder::interleaved, 2, 4, 2}};

class Pipelines
    : public testing::TestWithParam<std::tuple<const PipelineNet*, PipelineCase>> {};

TEST_P(Pipelines, AreBitEqualToAccumulation) {
  const auto& [net, schedule] = GetParam();
  const PipelineRun mine = by_pipeline(*net, schedule.schedule(), 12);
  const PipelineRun theirs = by_accumulation(*net, 12, schedule.micro_batches);
  EXPECT_GT(theirs.losses[0], theirs.losses[2]) << "it learns";
  EXPECT_EQ(mine.losses, theirs.losses);
  EXPECT_EQ(mine.gradients, theirs.gradients);
  EXPECT_EQ(mine.weights, theirs.weights);
  EXPECT_EQ(mine.buffers, theirs.buffers);
}

INSTANTIATE_TEST_SUITE_P(Nets, Pipelines,
                         testing::Combine(testing::Values(&test::kPipelineInPlace,
                                                          &test::kPipelineResNet),
                                          testing::ValuesIn(kPipelineCases)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)->name) + "_" +
                                  std::get<1>(info.param).name;
                         });

TEST(Pipeline, ClipsTheNormOverAllDevices) {
  const train::TrainStepOptions clipped{.clip_grad_norm = 0.01};
  EXPECT_EQ(by_pipeline(test::kPipelineToy,
                        pipeline_schedule(PipelineOrder::gpipe, 4, 4), 12, 1, clipped),
            by_accumulation(test::kPipelineToy, 12, 4, test::reference(0), clipped));
}

TEST(Pipeline, AccumulatesBatchesOfMicroBatches) {
  const PipelineRun mine = by_pipeline(
      test::kPipelineResNet, pipeline_schedule(PipelineOrder::one_f_one_b, 4, 4), 8, 2);
  const PipelineRun theirs = by_accumulation(test::kPipelineResNet, 16, 8);
  EXPECT_EQ(mine.gradients, theirs.gradients);
  EXPECT_EQ(mine.weights, theirs.weights);
}

TEST(Pipeline, LeavesOutTheMicroBatchesThatASmallBatchLacks) {
  const auto schedule = pipeline_schedule(PipelineOrder::one_f_one_b, 4, 8);
  EXPECT_EQ(by_pipeline(test::kPipelineResNet, schedule, 6),  // 6 chunks of 1
            by_accumulation(test::kPipelineResNet, 6, 6));
}

/// The random stream of dropout is per device and counts its calls.
TEST(Pipeline, DropoutIsThatOfTheDeviceThatDropsOut) {
  const PipelineNet& net = test::kPipelineDropout;
  const auto schedule = pipeline_schedule(PipelineOrder::gpipe, 2, 4);
  const PipelineRun mine = by_pipeline(net, schedule, 12);
  EXPECT_EQ(mine, by_accumulation(net, 12, 4, test::reference(1)));
  EXPECT_NE(mine.gradients, by_accumulation(net, 12, 4, test::reference(0)).gradients);
  const auto other = pipeline_schedule(PipelineOrder::one_f_one_b, 2, 4);
  EXPECT_EQ(mine, by_pipeline(net, other, 12)) << "each stage sees the same order";
}

/// Returns the peaks of the devices in one step of 8 micro-batches of 8 rows.
std::vector<int64_t> pipeline_peaks(PipelineOrder order, int micro_batches) {
  for (int r = 0; r < 4; ++r) {
    runtime::context(test::reference(r)).synchronize();
    runtime::context(test::reference(r)).allocator().reset_peak();
  }
  by_pipeline(test::kPipelineResNet, pipeline_schedule(order, 4, micro_batches),
              8 * micro_batches);
  std::vector<int64_t> peaks;
  for (int r = 0; r < 4; ++r) peaks.push_back(runtime::peak_bytes(test::reference(r)));
  return peaks;
}

TEST(Pipeline, FreesAMicroBatchAfterItsBackwardPass) {
  const auto all = pipeline_peaks(PipelineOrder::gpipe, 12);
  const auto few = pipeline_peaks(PipelineOrder::gpipe, 8);
  const auto bounded = pipeline_peaks(PipelineOrder::one_f_one_b, 12);
  for (int r = 0; r < 2; ++r) {  // the stages with convolutions
    const int64_t images = r == 0 ? int64_t{8 * 2 * 8 * 8 * 8} : 0;  // stay all step
    const int64_t each = (all[r] - few[r]) / 4 - images;
    ASSERT_GT(each, 0);
    // 1F1B holds 4 − r of 12, and the next one's input may have arrived.
    EXPECT_LE(bounded[r], all[r] - (12 - (4 - r) - 1) * each) << "rank " << r;
  }
}

TEST(Pipeline, SaysWhereAModelCannotBeCut) {
  const auto error = [](const std::vector<std::string>& cuts) {
    const nn::ModulePtr model = models::make("resnet18", {});
    return test::message_of([&] { parallel::split_into_stages(*model, cuts); });
  };
  EXPECT_EQ(
      error({"layer9"}),
      "'layer9' is not a part of ResNet; fix: a stage can begin at: bn1, relu, "
      "layer1, layer2, layer3, layer4, avgpool, flatten, fc, or inside one, such as "
      "layer1.1");
  EXPECT_TRUE(error({"layer3", "layer2"})
                  .starts_with("'layer2' does not come after 'layer3'; fix: "));
  EXPECT_TRUE(error({"conv1"}).starts_with("'conv1' is the first part; fix: "));
  EXPECT_EQ(error({"layer2.1", "fc"}), "");
  EXPECT_TRUE(error({"layer2.1.conv2"}).starts_with("'layer2.1.conv2' is not a part"));
  EXPECT_NE(test::message_of([] { parallel::split_into_stages(models::Toy(), {}); }),
            "");
}

TEST(Pipeline, PartsOfEveryModelAreItsForwardPass) {
  for (const auto& [arch, side] :
       {std::pair{"resnet18", 32}, {"vgg16_bn", 32}, {"alexnet", 64}}) {
    nn::Construction construction;
    construction.seed = 5;
    nn::ConstructionScope scope(construction);
    const nn::ModulePtr model = models::make(arch, {});
    model->to(test::kCpu);
    model->eval();
    const autograd::NoGrad no_grad;
    Tensor x = test::on(test::kCpu,
                        test::signed_tensor("x", {1, 3, side, side}, 1, DType::f32));
    const Tensor whole = (*model)(x);
    const std::string inside =
        model->parts()[0].name == "conv1" ? "layer2.1" : "features.3";
    for (const nn::Part& part : parallel::parts_of(*model, {inside})) x = part(x);
    EXPECT_EQ(test::values_of(x), test::values_of(whole)) << arch;
  }
}

}  // namespace
}  // namespace lockstep

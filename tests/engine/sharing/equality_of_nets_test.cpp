// The equality matrix of whole nets: ResNet18 and VGG16 on images of 32×32, one image
// per device, one step. The small nets of equality_test.cpp have more rows and steps.
#include "tests/engine/sharing/equality.h"
#include "tests/engine/sharing/pipeline_ways.h"
#include "tests/engine/sharing/worker_ways.h"
#include "tests/sanitized.h"

namespace lockstep {
namespace {

using test::kBatchNorm;
using test::kDropout;
using test::kNothing;

nn::ModulePtr whole_resnet18() {
  return models::make("resnet18", {.stem = models::Stem::cifar});
}
nn::ModulePtr whole_vgg16() { return test::make_vgg16_for_cifar(0); }
nn::ModulePtr whole_vgg16_dropout() { return test::make_vgg16_for_cifar(0.5); }

std::vector<test::Column> whole_nets() {
  const std::vector<int64_t> image{3, 32, 32}, rows{2};
  const std::vector<std::string> of_resnet{"layer2", "layer3", "layer4"},
      of_vgg{"features.5", "features.17", "classifier"};
  return {
      {"resnet18", kBatchNorm, {whole_resnet18, image, 10, rows, of_resnet, 2}},
      {"vgg16", kNothing, {whole_vgg16, image, 10, rows, of_vgg, 2}},
      {"vgg16 d", kDropout, {whole_vgg16_dropout, image, 10, rows, of_vgg, 2}},
  };
}

std::vector<test::Row> rows_of_whole_nets() {
  using plan::PipelineOrder;
  const auto one_f_one_b = test::by_model_parallel(PipelineOrder::one_f_one_b, 2, 2);
  const auto sync = test::parameter_servers(2, sharing::Consistency::sync);
  const auto locked =
      test::shared_memory(sharing::UpdateBy::store, sharing::LockFor::update);
  return {
      {"dp", "single", test::by_data_parallel, test::by_one_device,
       kBatchNorm | kDropout,
       "each replica normalizes its own chunk, and draws its own dropout masks"},
      {"ddp", "dp", test::by_ddp, test::by_data_parallel, kNothing, ""},
      {"ps sync", "ddp", test::by_workers(sync), test::by_ddp, kNothing, ""},
      {"locked N=1", "single", test::by_one_worker(locked), test::by_one_device,
       kNothing, "", true},
      {"naive pipeline", "single", test::by_naive_model_parallel(), test::by_one_device,
       kDropout, "a device has its own dropout masks", true},
      {"1f1b M=2", "accumulate 2", one_f_one_b, test::by_accumulating(2), kDropout,
       "a device has its own dropout masks", true},
  };
}

TEST(LargeEqualityMatrix, OfWholeNetsIsTheCommittedTable) {
  if (kSanitized) {
    GTEST_SKIP() << "the same code runs with small nets, in a hundredth of the time";
  }
  test::expect_committed("equality_of_nets.txt",
                         test::table(whole_nets(), rows_of_whole_nets()));
}

}  // namespace
}  // namespace lockstep

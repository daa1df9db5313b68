// print(model): byte for byte what PyTorch prints.
#include <utility>

#include "engine/train/trainer.h"
#include "tests/engine/distributed/nets.h"

namespace lockstep {
namespace {

using test::Json;

nn::ModulePtr without_memory(const std::string& arch, int64_t classes) {
  nn::Construction construction;
  construction.skeleton = true;
  nn::ConstructionScope scope(construction);
  return models::make(arch, {.classes = classes, .stem = models::Stem::imagenet});
}

class Print : public testing::Test {
 protected:
  const Json golden = test::read_golden("printed.json");
  nn::ModulePtr make(const std::string& arch) const {
    return without_memory(arch, golden["classes"]);
  }
};

TEST_F(Print, ModelsAsPyTorchDoes) {
  EXPECT_EQ(golden["single"].size(), 7u);
  for (const auto& [arch, text] : golden["single"].items()) {
    EXPECT_EQ(make(arch)->repr(), text.get<std::string>()) << arch;
  }
}

TEST_F(Print, DataParallelAroundModels) {
  for (const auto& [arch, text] : golden["dp"].items()) {
    EXPECT_EQ(parallel::DataParallel(make(arch), test::devices(2)).repr(),
              text.get<std::string>());
  }
}

TEST_F(Print, DataParallelAroundTheFeatures) {
  for (const auto& [arch, text] : golden["dp-features"].items()) {
    const nn::ModulePtr model = make(arch);
    train::feature_wrapper()(*model, test::devices(2));
    EXPECT_EQ(model->repr(), text.get<std::string>()) << arch;
  }
}

TEST_F(Print, DistributedDataParallelAroundModels) {
  test::on_ranks({1}, [&](test::Rank& rank) {
    const nn::ModulePtr toy = test::in_double(test::make_toy);
    toy->to(rank.device);
    EXPECT_EQ(distributed::DistributedDataParallel(toy, rank.group).repr(),
              golden["ddp"]["toy"].get<std::string>());
  });
}

TEST_F(Print, SyncBatchNorms) {
  const nn::ModulePtr model = make("resnet18");
  nn::convert_sync_batchnorm(*model, [](const Tensor& x, auto...) { return x; });
  EXPECT_EQ(model->repr(), golden["synchronized"]["resnet18"].get<std::string>());
}

TEST_F(Print, NumbersAsPythonPrintsThem) {
  for (const auto& [p, text] : {std::pair{0.5, "0.5"}, {0.0, "0.0"}, {1e-5, "1e-05"}}) {
    EXPECT_EQ(nn::Dropout(p).repr(),
              std::string("Dropout(p=") + text + ", inplace=False)");
  }
}

}  // namespace
}  // namespace lockstep

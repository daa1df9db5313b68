// What `--split auto` measures, and that measuring leaves the model as it is.
#include "engine/parallel/part_profile.h"

#include <gtest/gtest.h>

#include "engine/ops/ops.h"
#include "tests/engine/parallel/pipeline_nets.h"

namespace lockstep::parallel {
namespace {

constexpr Device kUnused{DeviceType::reference, 7};

std::vector<std::string> names_in(const std::vector<PartProfile>& parts) {
  std::vector<std::string> names;
  for (const PartProfile& part : parts) names.push_back(part.name);
  return names;
}

std::vector<double> all_values(const nn::Module& model) {
  std::vector<double> values;
  for (const auto& tensors : {model.parameters(), model.buffers()}) {
    for (const Tensor& tensor : tensors) {
      for (const double value : test::values_of(tensor)) values.push_back(value);
    }
  }
  return values;
}

TEST(PartProfile, IsOfTheSmallestPartsThatCanBeCut) {
  const nn::ModulePtr model = models::make("resnet18", {});
  const Tensor images = Tensor::empty({2, 3, 8, 8}, kHost);
  std::fill_n(images.data<float>(), images.numel(), 0.5f);
  const auto parts = profile_parts(*model, {DeviceType::cpu, 7}, images, 1);
  EXPECT_EQ(names_in(parts), (std::vector<std::string>{
                                 "conv1", "bn1", "relu", "layer1.0", "layer1.1",
                                 "layer2.0", "layer2.1", "layer3.0", "layer3.1",
                                 "layer4.0", "layer4.1", "avgpool", "flatten", "fc"}));
  for (size_t i = 1; i < parts.size(); ++i) {  // each can begin a stage
    EXPECT_EQ(split_into_stages(*model, {parts[i].name}).size(), 2) << parts[i].name;
  }
  EXPECT_EQ(parts[4].output_bytes, 2 * 64 * 8 * 8 * 4);
  EXPECT_EQ(parts[10].output_bytes, 2 * 512 * 4);
  EXPECT_EQ(parts[13].output_bytes, 2 * 10 * 4);
  for (const PartProfile& part : parts) {
    EXPECT_GT(part.forward_ns, 0);
    EXPECT_GT(part.backward_ns, 0);
  }
}

TEST(PartProfile, LeavesTheModelAsItIs) {
  for (const test::PipelineNet* net :
       {&test::kPipelineResNet, &test::kPipelineInPlace, &test::kPipelineDropout}) {
    const nn::ModulePtr model = net->model();
    const auto before = all_values(*model);
    const uint64_t drawn = ops::dropout_calls(kUnused);
    nn::Construction construction;
    construction.dtype = DType::f64;
    const nn::ConstructionScope scope(construction);
    const auto parts = profile_parts(*model, kUnused, net->batch(4).images, 2);
    EXPECT_EQ(parts.size(), parts_of(*model, {}).size());
    EXPECT_EQ(all_values(*model), before) << net->name;
    for (const Tensor& parameter : model->parameters()) {
      EXPECT_FALSE(parameter.grad().defined());
    }
    EXPECT_EQ(ops::dropout_calls(kUnused), drawn);
    EXPECT_EQ(nn::construction().next_stream, 0);
  }
}

}  // namespace
}  // namespace lockstep::parallel

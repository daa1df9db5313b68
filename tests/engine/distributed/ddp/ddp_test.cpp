// DistributedDataParallel against PyTorch's results and PyTorch's buckets.
// sanitize: thread
#include "engine/distributed/ddp/distributed_data_parallel.h"

#include "engine/models/vgg.h"
#include "engine/optim/sgd.h"
#include "tests/engine/distributed/nets.h"
#include "tests/machine_memory.h"
#include "tests/sanitized.h"

namespace lockstep {
namespace {

using distributed::DdpOptions;
using distributed::DistributedDataParallel;
using test::Batch;
using test::Json;
using test::Rank;

constexpr double kAsPyTorch = 1e-9;

/// VGG's features with a single linear layer.
class VggOfOneLinear : public nn::Module {
 public:
  VggOfOneLinear() {
    features_ = register_module("features", models::VGG({10, true}).features());
    head_ = register_module("head", std::make_shared<nn::Linear>(512, 10));
  }
  Tensor forward(const Tensor& x) override {
    return (*head_)(ops::flatten((*features_)(x)));
  }
  const char* type_name() const override { return "VggOfOneLinear"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<VggOfOneLinear>();
  }

 private:
  nn::ModulePtr features_;
  std::shared_ptr<nn::Linear> head_;
};

/// A golden net without values. The suffix `_cifar` selects the CIFAR stem and 10
/// classes.
nn::ModulePtr make(const std::string& net, DType dtype, int64_t classes) {
  nn::Construction nothing;
  nothing.dtype = dtype;
  nothing.fill = false;
  nn::ConstructionScope scope(nothing);
  nn::ModulePtr model;
  if (net == "toy") {
    model = test::make_toy();
  } else if (net == "vgg16_bn_one_fc") {
    model = std::make_shared<VggOfOneLinear>();
  } else {
    const bool cifar = test::ends_with(net, "_cifar");
    model = models::make(net.substr(0, net.find("_cifar")),
                         {.classes = cifar ? 10 : classes,
                          .stem = cifar ? models::Stem::cifar : models::Stem::imagenet,
                          .dropout = 0});
  }
  model->assign_paths("");
  return model;
}

/// Names of parameters by bucket, from the golden file's indices.
std::vector<std::vector<std::string>> names_in(const Json& buckets, const Json& names) {
  std::vector<std::vector<std::string>> found;
  for (const Json& bucket : buckets) {
    found.emplace_back();
    for (const size_t i : bucket) found.back().push_back(names[i]);
  }
  return found;
}

class DdpGolden : public testing::TestWithParam<const char*> {
 protected:
  const Json golden = test::read_golden(std::string("ddp_") + GetParam() + ".json");
  const int size = golden["ranks"];
  const Batch batch =
      Batch::golden(golden["batch"], golden["image"], golden["classes"]);
};

INSTANTIATE_TEST_SUITE_P(Nets, DdpGolden, testing::Values("toy_n2", "toy_n3"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Large, DdpGolden,
                         testing::Values("resnet18_cifar_n2", "resnet18_cifar_n3",
                                         "vgg16_n2"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(DdpGolden, EqualsPyTorchInDouble) {
  if (golden["net"] == "vgg16" && gibibytes_of_memory() < 16) {
    GTEST_SKIP() << "needs 15 GB of memory";
  }
  std::vector<uint64_t> gradients(size), parameters(size);
  // Rank 0 alone takes fingerprints; of VGG16 under sanitizers, for half a minute.
  const test::World world{.size = size, .timeout = Milliseconds(200'000)};
  test::on_ranks(world, [&](Rank& rank) {
    const nn::ModulePtr model = make(golden["net"], DType::f64, golden["classes"]);
    test::only_rank_0_knows(*model, rank);
    model->to(rank.device);
    DistributedDataParallel ddp(model, rank.group);
    const Batch mine = batch.share(rank).on(rank.device);
    optim::Sgd sgd(model->named_parameters(), {golden["sgd"]["lr"], 0.9, 1e-4});
    const Json& losses = golden["losses"][rank.rank];
    for (size_t step = 0; step < losses.size(); ++step) {
      const Tensor loss = ops::cross_entropy(ddp(mine.images), mine.labels);
      sgd.zero_grad();
      loss.backward();
      EXPECT_NEAR(ops::item(loss), losses[step],
                  kAsPyTorch * std::max(double(losses[step]), double(losses[0])))
          << "rank " << rank.rank << ", step " << step;
      if (step == 0) {
        Tensors grads;
        for (const auto& [name, parameter] : model->named_parameters()) {
          grads.push_back(parameter.grad());
          if (rank.rank > 0) continue;
          test::expect_fingerprint(name, grads.back(), golden["gradients"][name],
                                   kAsPyTorch);
        }
        gradients[rank.rank] = test::bits_of(grads);
      }
      sgd.step();
    }
    parameters[rank.rank] = test::bits_of(model->parameters());
    for (const auto& [name, parameter] : model->named_parameters()) {
      if (rank.rank > 0) break;  // the other ranks are bit-identical
      test::expect_fingerprint(name, parameter, golden["parameters"][name], kAsPyTorch);
    }
    for (const auto& [name, buffer] : model->named_buffers()) {
      if (test::ends_with(name, "num_batches_tracked")) {
        EXPECT_EQ(ops::item(buffer), losses.size()) << name;
      } else {
        test::expect_fingerprint(name, buffer, golden["buffers"][rank.rank][name],
                                 kAsPyTorch);
      }
    }
  });
  test::expect_all_equal(gradients);
  test::expect_all_equal(parameters);
}

TEST_P(DdpGolden, LaunchesPyTorchsBuckets) {
  test::on_ranks({size, test::Wire::local, DeviceType::null}, [&](Rank& rank) {
    const nn::ModulePtr model = make(golden["net"], DType::f64, golden["classes"]);
    model->to(rank.device);
    DdpOptions options;
    test::Launched seen;
    options.reducer.comm_hook = test::watching(seen);
    DistributedDataParallel ddp(model, rank.group, options);
    const Batch mine = batch.share(rank).on(rank.device);
    for (const Json& expected : golden["buckets"]) {
      seen = {};
      ops::cross_entropy(ddp(mine.images), mine.labels).backward();
      EXPECT_EQ(seen.bytes, expected["bytes"].get<std::vector<int64_t>>());
      EXPECT_EQ(seen.params,
                names_in(expected["parameters"], golden["parameter_names"]));
    }
  });
}

// --- the same buckets in float32, for every net and setting in the golden file

class DdpBuckets : public testing::TestWithParam<const char*> {
 protected:
  const Json golden = test::read_golden("ddp_buckets.json")["nets"].at(GetParam());

  /// The buckets of two steps under `row`'s setting, on the null device.
  void expect_row(const Json& row, int size) const {
    test::on_ranks({size, test::Wire::local, DeviceType::null}, [&](Rank& rank) {
      const nn::ModulePtr model = make(GetParam(), DType::f32, 1000);
      model->to(rank.device);
      DdpOptions options;
      test::Launched seen;
      options.reducer.find_unused_parameters = row[0];
      options.reducer.bucket_cap = row[1];
      options.reducer.comm_hook = test::watching(seen);
      DistributedDataParallel ddp(model, rank.group, options);
      const Batch mine = Batch::golden(2, {3, 32, 32}, 10, DType::f32).on(rank.device);
      const auto names = model->named_parameters();
      Json all;
      for (const auto& [name, parameter] : names) all.push_back(name);
      for (const Json* expected : {&row[2], &row[3], &row[3]}) {
        seen = {};
        ops::cross_entropy(ddp(mine.images), mine.labels).backward();
        std::vector<int64_t> bytes;
        for (const Json& bucket : *expected) {
          bytes.push_back(0);
          for (const size_t i : bucket) bytes.back() += int64_t(golden["numel"][i]) * 4;
        }
        EXPECT_EQ(seen.bytes, bytes) << "rank " << rank.rank;
        EXPECT_EQ(seen.params, names_in(*expected, all)) << "rank " << rank.rank;
      }
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Nets, DdpBuckets,
                         testing::Values("resnet18", "resnet18_cifar", "resnet34",
                                         "resnet34_cifar", "resnet50", "resnet50_cifar",
                                         "vgg16", "vgg16_bn_one_fc"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(DdpBuckets, AreThoseOfPyTorch) {
  if (kThreadSanitized) GTEST_SKIP() << "it tests sizes, not threads";
  const bool is_small = GetParam() == std::string("resnet18");
  for (const Json& row : golden["ddp"]) {
    for (int size : is_small ? std::vector{2, 4, 8} : std::vector{2}) {
      expect_row(row, size);
    }
  }
}

}  // namespace
}  // namespace lockstep

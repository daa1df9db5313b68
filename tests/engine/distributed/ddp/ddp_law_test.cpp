// The equivalence: without batch norm, N ranks give the result of one device on the
// whole batch, for every class that synchronizes gradients and for every transport.
// sanitize: thread
#include "engine/optim/sgd.h"
#include "tests/engine/distributed/nets.h"
#include "tests/sanitized.h"

namespace lockstep {
namespace {

using distributed::DdpOptions;
using distributed::DistributedDataParallel;
using test::Batch;
using test::Rank;
using test::Wire;

/// A net and its training: ten steps on the same rows.
struct Training {
  nn::ModulePtr (*make)();
  std::vector<int64_t> image;
  int64_t classes;
  DType dtype = DType::f64;
  DeviceType type = DeviceType::reference;

  Batch batch() const { return Batch::golden(12, image, classes, dtype); }

  /// A model with golden values. If `of_rank` > 0, the values differ and the wrapper
  /// must overwrite them.
  nn::ModulePtr model(Device device, int of_rank = 0) const {
    nn::Construction construction;
    construction.dtype = dtype;
    construction.seed = 100 + of_rank;
    nn::ConstructionScope scope(construction);
    const nn::ModulePtr made = make();
    made->assign_paths("");
    if (of_rank == 0) test::fill_golden(*made, dtype);
    made->to(device);
    return made;
  }

  static void train(nn::Module& net, const nn::Module& model, const Batch& batch) {
    optim::Sgd sgd(model.named_parameters(), {0.05, 0.9, 1e-4});
    for (int step = 0; step < 10; ++step) {
      const Tensor loss = ops::cross_entropy(net(batch.images), batch.labels);
      sgd.zero_grad();
      loss.backward();
      sgd.step();
    }
  }

  Tensors alone() const {
    const Device device{type, 0};
    const nn::ModulePtr net = model(device);
    train(*net, *net, batch().on(device));
    return net->parameters();
  }
};

const Training kToyNet{test::make_toy, {5}, 2};
const Training kSmallNet{test::make_small_net, {2, 8, 8}, 3};
const Training kDeep{test::make_deep_net, {5}, 3};

/// Numbers of ranks; under TSan only three, since all run the same code.
std::vector<int> ranks(std::vector<int> all) {
  return kThreadSanitized ? std::vector{3} : all;
}

/// Many buckets, several of them from the first step.
DdpOptions in_tiny_buckets() {
  DdpOptions options;
  options.reducer.bucket_cap = 40;
  options.reducer.rule = plan::BucketRule::torch_1_11;
  return options;
}

/// All ranks end with identical bits, and rank 0 is within `tolerance` (relative L2 of
/// each parameter) of the single device.
void expect_law(const Training& training, const test::World& world,
                const DdpOptions& options, double tolerance) {
  const Tensors expected = training.alone();
  std::vector<uint64_t> bits(world.size);
  Tensors mine;
  test::on_ranks(world, [&](Rank& rank) {
    const nn::ModulePtr model = training.model(rank.device, rank.rank);
    DistributedDataParallel ddp(model, rank.group, options);
    Training::train(ddp, *model, training.batch().share(rank).on(rank.device));
    bits[rank.rank] = test::bits_of(model->parameters());
    if (rank.rank == 0) mine = model->parameters();
  });
  test::expect_all_equal(bits);
  ASSERT_EQ(mine.size(), expected.size());
  for (size_t i = 0; i < mine.size(); ++i) {
    EXPECT_LT(test::relative_l2(mine[i], expected[i]), tolerance)
        << "parameter " << i << ", " << world.size << " ranks, "
        << test::name(world.wire);
  }
}

/// Selects the class that synchronizes gradients, for the enclosing scope.
class InUse {
 public:
  explicit InUse(decltype(&distributed::make_reducer) factory)
      : outer_(distributed::gradient_sync_factory().reference()) {
    distributed::gradient_sync_factory().set_reference(factory);
  }
  ~InUse() { distributed::gradient_sync_factory().set_reference(outer_); }

 private:
  std::function<distributed::GradientSyncFactory> outer_;
};

struct Algorithm {
  const char* name;
  decltype(&distributed::make_reducer) make;
};

class DdpLaw : public testing::TestWithParam<std::tuple<Algorithm, Wire>> {};

INSTANTIATE_TEST_SUITE_P(
    Ways, DdpLaw,
    testing::Combine(testing::Values(Algorithm{"reducer", distributed::make_reducer},
                                     Algorithm{"naive", distributed::make_naive_sync},
                                     Algorithm{"bucketed",
                                               distributed::make_bucketed_sync}),
                     testing::Values(Wire::local, Wire::tcp)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_" +
             test::name(std::get<1>(info.param));
    });

TEST_P(DdpLaw, TrainsAsOnOneDevice) {
  const auto [way, wire] = GetParam();
  const InUse in_use(way.make);
  for (const Training& training : {kToyNet, kSmallNet}) {
    for (int size : ranks({1, 2, 3, 4})) expect_law(training, {size, wire}, {}, 1e-12);
  }
}

TEST_P(DdpLaw, TrainsInManyTinyBucketsToo) {
  const auto [way, wire] = GetParam();
  const InUse in_use(way.make);
  for (int size : ranks({2, 3}))
    expect_law(kDeep, {size, wire}, in_tiny_buckets(), 1e-12);
}

TEST(DdpLawOptions, GradientsMayBeViewsOfBuckets) {
  DdpOptions options = in_tiny_buckets();
  options.reducer.gradient_as_bucket_view = true;
  for (int size : ranks({1, 2, 3, 4})) expect_law(kDeep, {size}, options, 1e-12);
}

TEST(DdpLawOptions, LookingForUnusedParametersChangesNothing) {
  DdpOptions options = in_tiny_buckets();
  options.reducer.find_unused_parameters = true;
  for (int size : ranks({2, 3})) expect_law(kDeep, {size}, options, 1e-12);
}

TEST(DdpLawOptions, ACommHookOwnsTheDivision) {
  DdpOptions options = in_tiny_buckets();
  options.reducer.comm_hook = [](test::ProcessGroup& group,
                                 distributed::GradBucket& bucket) {
    ops::OpCall op("aten::div_", {bucket.buffer}, std::source_location::current());
    ops::compute_into(OpCode::scale, {bucket.buffer}, {bucket.buffer}, {},
                      {1.0 / group.size()});
    return group.all_reduce(bucket.buffer, test::ReduceOp::sum, bucket.label);
  };
  for (int size : ranks({2, 3})) expect_law(kDeep, {size}, options, 1e-12);
}

/// Selects one convolution algorithm for every batch size, for the enclosing scope.
class DirectConvolutions {
 public:
  DirectConvolutions() { use(ConvAlgorithm::direct); }
  ~DirectConvolutions() { use(outer_); }

 private:
  static void use(ConvAlgorithm algorithm) {
    backend_options().conv = algorithm;
    backend_of(DeviceType::cpu).clear_cache();
  }
  const ConvAlgorithm outer_ = backend_options().conv;
};

TEST(DdpLawFloat32, TrainsAsOnOneDevice) {
  if (kThreadSanitized) GTEST_SKIP() << "TSan cannot observe OpenMP";
  if (!has_backend(DeviceType::cpu)) GTEST_SKIP() << "built without oneDNN";
  const DirectConvolutions direct;
  Training training = kSmallNet;
  training.dtype = DType::f32;
  training.type = DeviceType::cpu;
  for (int size : {1, 2, 3, 4}) {
    expect_law(training, {size, Wire::local, DeviceType::cpu}, {}, 1e-5);
  }
}

}  // namespace
}  // namespace lockstep

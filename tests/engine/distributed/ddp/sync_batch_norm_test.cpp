// SyncBatchNorm: N ranks normalize and train like one device on the combined batch.
// PyTorch 1.13 does not support SyncBatchNorm on CPUs, so there are no golden values;
// the tests compare with one device instead.
// sanitize: thread
#include "engine/nn/layers.h"

#include "engine/distributed/ddp/join.h"
#include "engine/optim/sgd.h"
#include "tests/engine/distributed/ddp/sync_batch_norm.h"
#include "tests/sanitized.h"

namespace lockstep {
namespace {

using distributed::BackwardSums;
using distributed::BatchStatistics;
using distributed::CollectiveLabel;
using distributed::DistributedDataParallel;
using test::Batch;
using test::NormCase;
using test::Rank;

const std::vector<std::vector<int64_t>> kShares{{3, 3}, {2, 2, 2}, {4, 1, 1}, {1, 5}};

TEST(DdpSyncBatchNorm, NormalisesAsOneDeviceWhateverTheShares) {
  const NormCase layer = NormCase::random({6, 5, 3, 4});
  const test::Normalized one = layer.run(test::kReference, 0, 6);
  for (const auto& counts : kShares) {
    SCOPED_TRACE(testing::PrintToString(counts));
    test::expect_as_one(test::normalized_by_ranks(layer, counts, DeviceType::reference),
                        one, 1e-13);
  }
}

TEST(DdpSyncBatchNorm, ARankMayHaveASingleElementPerChannel) {
  const NormCase layer = NormCase::random({3, 2, 1, 1});
  test::expect_as_one(test::normalized_by_ranks(layer, {1, 2}, DeviceType::reference),
                      layer.run(test::kReference, 0, 3), 1e-13);
}

// In float32, E[x²] − E[x]² of such values has no correct digit.
TEST(DdpSyncBatchNorm, ASmallVarianceBesideALargeMeanSurvives) {
  const Shape sizes{6, 2, 8, 8};
  NormCase layer{test::signed_tensor("x", sizes, 0.25, DType::f32, 1000),
                 test::signed_tensor("grad", sizes, 1, DType::f32), DType::f32};
  const auto ranks = test::normalized_by_ranks(layer, {4, 2}, DeviceType::reference);
  layer.dtype = DType::f64;
  const test::Normalized truth = layer.run(test::kReference, 0, 6);
  EXPECT_LE(test::relative_l2(ranks[0].running_var, truth.running_var), 1e-5);
  EXPECT_LE(test::relative_l2(test::joined(ranks, &test::Normalized::y), truth.y),
            1e-2);
}

// d(Σ over all ranks of y · w)/dx by central differences: a rank's x affects the y of
// the other ranks.
TEST(DdpSyncBatchNorm, GradientsByFiniteDifferences) {
  constexpr double kStep = 1e-5, kTolerance = 1e-6;
  const Shape sizes{3, 2, 2, 1};
  NormCase layer{test::random("x", sizes), test::random("grad", sizes)};
  const std::vector<int64_t> counts{1, 2};
  const auto ranks = test::normalized_by_ranks(layer, counts, DeviceType::reference);
  const auto dx = test::values_of(test::joined(ranks, &test::Normalized::dx));
  const auto w = test::values_of(layer.dy), x = test::values_of(layer.x);
  const auto moved_by = [&](size_t i, double step) {
    std::vector<double> moved = x;
    moved[i] += step;
    NormCase other = layer;
    other.x = Tensor::from(moved, sizes, DType::f64);
    const auto y = test::values_of(
        test::joined(test::normalized_by_ranks(other, counts, DeviceType::reference),
                     &test::Normalized::y));
    double sum = 0;
    for (size_t k = 0; k < y.size(); ++k) sum += y[k] * w[k];
    return sum;
  };
  for (size_t i = 0; i < x.size(); ++i) {
    const double slope = (moved_by(i, kStep) - moved_by(i, -kStep)) / (2 * kStep);
    EXPECT_NEAR(dx[i], slope, kTolerance) << "element " << i;
  }
}

nn::ModulePtr make_normed_net() {
  const auto conv = [](int64_t in, int64_t out, int64_t stride) {
    return std::make_shared<nn::Conv2d>(nn::Conv2dSettings{
        .in = in, .out = out, .kernel = 3, .stride = stride, .bias = false});
  };
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      conv(2, 4, 1), std::make_shared<nn::BatchNorm2d>(4), std::make_shared<nn::ReLU>(),
      conv(4, 3, 2), std::make_shared<nn::BatchNorm2d>(3), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::AdaptiveAvgPool2d>(1), std::make_shared<test::Flatten>(),
      std::make_shared<nn::Linear>(3, 3)});
}

/// Ten steps of SGD on the same rows. The loss is a sum, so that ranks may have
/// different numbers of rows; DDP divides gradients by the number of ranks.
Tensors trained(nn::Module& net, const nn::Module& model, const Batch& batch,
                double scale) {
  optim::Sgd sgd(model.named_parameters(), {0.05, 0.9, 1e-4});
  for (int step = 0; step < 10; ++step) {
    const Tensor loss = ops::scale(
        ops::cross_entropy(net(batch.images), batch.labels, ops::Reduction::sum),
        scale);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  Tensors state = model.parameters();
  for (const Tensor& buffer : model.buffers()) state.push_back(buffer);
  return state;
}

class DdpSyncBatchNormLaw : public testing::TestWithParam<std::vector<int64_t>> {};
INSTANTIATE_TEST_SUITE_P(Shares, DdpSyncBatchNormLaw,
                         testing::Values(std::vector<int64_t>{6, 6},
                                         std::vector<int64_t>{4, 4, 4},
                                         std::vector<int64_t>{7, 5},
                                         std::vector<int64_t>{6, 1, 5}));

TEST_P(DdpSyncBatchNormLaw, TrainsAsOneDeviceWithOrdinaryBatchNorm) {
  const std::vector<int64_t>& counts = GetParam();
  const Batch all = Batch::golden(12, {2, 8, 8}, 3);
  const nn::ModulePtr alone = test::in_double(make_normed_net);
  test::fill_golden(*alone, DType::f64);
  alone->to(test::kReference);
  const Tensors expected = trained(*alone, *alone, all.on(test::kReference), 1.0 / 12);

  std::vector<Tensors> states(counts.size());
  test::on_ranks({static_cast<int>(counts.size())}, [&](Rank& rank) {
    const nn::ModulePtr model = test::in_double(make_normed_net);
    test::only_rank_0_knows(*model, rank);
    model->to(rank.device);
    EXPECT_EQ(distributed::convert_sync_batchnorm(*model, rank.group), 2);
    DistributedDataParallel ddp(model, rank.group, {.broadcast_buffers = false});
    int64_t first = 0;
    for (int r = 0; r < rank.rank; ++r) first += counts[r];
    const Batch mine = all.rows(first, counts[rank.rank]).on(rank.device);
    states[rank.rank] = trained(ddp, *model, mine, rank.size / 12.0);
  });
  for (const Tensors& state : states) {
    ASSERT_EQ(state.size(), expected.size());
    EXPECT_EQ(test::bits_of(state), test::bits_of(states[0]));
    for (size_t i = 0; i < state.size(); ++i) {
      EXPECT_LT(test::relative_l2(state[i], expected[i]), 1e-12) << "tensor " << i;
    }
  }
}

TEST(DdpSyncBatchNorm, EvaluatesByRunningStatisticsWithoutACollective) {
  test::on_ranks({2}, [](Rank& rank) {
    const nn::ModulePtr layer = test::in_double(test::make_batch_norm);
    layer->to(rank.device);
    distributed::convert_sync_batchnorm(*layer, rank.group);
    EXPECT_STREQ(layer->type_name(), "SyncBatchNorm");
    layer->eval();
    if (rank.rank == 0) {  // the other rank does not take part
      const Tensor y = (*layer)(test::on(rank.device, test::random("x", {2, 2, 3, 3})));
      runtime::context(rank.device).synchronize();
      EXPECT_EQ(rank.group->last_call().first, -1);
    }
  });
}

TEST(DdpSyncBatchNorm, OfOneRankIsOrdinary) {
  test::on_ranks({1}, [](Rank& rank) {
    const nn::ModulePtr layer = test::in_double(test::make_batch_norm);
    layer->to(rank.device);
    distributed::convert_sync_batchnorm(*layer, rank.group);
    (*layer)(test::on(rank.device, test::random("x", {2, 2, 3, 3})));
    EXPECT_EQ(rank.group->last_call().first, -1);
  });
}

TEST(DdpSyncBatchNorm, GoesNeitherWithJoinNorWithReplicas) {
  test::on_ranks({2}, [](Rank& rank) {
    const nn::ModulePtr layer = test::in_double(test::make_batch_norm);
    layer->to(rank.device);
    EXPECT_FALSE(nn::has_sync_batchnorm(*layer));
    distributed::convert_sync_batchnorm(*layer, rank.group);
    DistributedDataParallel ddp(layer, rank.group);
    EXPECT_NE(test::message_of([&] {
                distributed::Join join(ddp);
              }).find("SyncBatchNorm layers"),
              std::string::npos);
    EXPECT_NE(test::message_of([&] { layer->make_like(); }).find("not ranks"),
              std::string::npos);
  });
}

/// Installs functions in the slots, for the enclosing scope.
struct Plugged {
  Plugged(std::function<distributed::SyncStatistics> statistics,
          std::function<distributed::SyncBackwardSums> sums) {
    if (statistics) distributed::sync_statistics().plug(std::move(statistics));
    if (sums) distributed::sync_backward_sums().plug(std::move(sums));
  }
  ~Plugged() {
    distributed::sync_statistics().unplug();
    distributed::sync_backward_sums().unplug();
  }
};

/// Returns each rank's error message when the slots hold these functions.
std::vector<std::string> said(std::function<distributed::SyncStatistics> statistics,
                              std::function<distributed::SyncBackwardSums> sums) {
  const Plugged plugged(std::move(statistics), std::move(sums));
  const NormCase layer = NormCase::random({4, 2, 3, 3});
  return test::messages_of_ranks(
      {2}, [&](Rank& rank) { layer.run(rank.device, 2 * rank.rank, 2, rank.group); });
}

TEST(DdpSyncBatchNorm, AWrongResultOfALearnersFunctionIsNamed) {
  using test::ProcessGroup;
  const auto expect = [](const std::vector<std::string>& messages, const char* words) {
    for (const std::string& message : messages) {
      EXPECT_NE(message.find(words), message.npos) << message;
    }
  };
  expect(said([](const BatchStatistics&, ProcessGroup&,
                 const CollectiveLabel&) { return BatchStatistics{}; },
              {}),
         "sync_statistics: `mean` of the result is not set");
  expect(said([](const BatchStatistics& mine, ProcessGroup&, const CollectiveLabel&)
                  -> BatchStatistics { return {mine.mean, mine.var, mine.mean}; },
              {}),
         "sync_statistics: `count` of the result must hold 1 elements");
  expect(said({},
              [](const BackwardSums& mine, ProcessGroup&,
                 const CollectiveLabel&) -> BackwardSums {
                return {mine.dy, ops::cat({mine.dy, mine.dy_xmu})};
              }),
         "sync_backward_sums: `dy_xmu` of the result must hold 2 elements");
}

TEST(SyncBatchNormOnCpu, IsTheReferenceInFloat32) {
  if (kThreadSanitized) GTEST_SKIP() << "TSan cannot observe OpenMP";
  if (!has_backend(DeviceType::cpu)) GTEST_SKIP() << "built without oneDNN";
  for (const Shape& sizes :
       {Shape{4, 64, 16, 16}, {3, 32, 7, 5}, {3, 5, 4, 6}, {5, 16, 1, 1}}) {
    for (const bool in_blocks : {true, false}) {
      for (const bool relu : {true, false}) {
        SCOPED_TRACE(testing::Message()
                     << sizes.str() << " blocks " << in_blocks << " relu " << relu);
        NormCase layer = NormCase::random(sizes, DType::f32);
        layer.in_blocks = in_blocks;
        layer.relu = relu;
        const auto ranks =
            test::normalized_by_ranks(layer, {sizes[0] - 1, 1}, DeviceType::cpu);
        layer.dtype = DType::f64;
        test::expect_as_one(ranks, layer.run(test::kReference, 0, sizes[0]), 2e-5);
      }
    }
  }
}

TEST(SyncBatchNormArithmetic, SmallOperations) {
  const Tensor a = test::on(test::kReference, test::vector({8, 6}));
  const Tensor b = test::on(test::kReference, test::vector({2, 3}));
  const Tensor one = test::on(test::kReference, test::vector({4}));
  using Values = std::vector<double>;
  EXPECT_EQ(test::values_of(ops::sub(a, b)), (Values{6, 3}));
  EXPECT_EQ(test::values_of(ops::mul(a, b)), (Values{16, 18}));
  EXPECT_EQ(test::values_of(ops::div(a, b)), (Values{4, 2}));
  EXPECT_EQ(test::values_of(ops::sub(a, one)), (Values{4, 2}));
  EXPECT_EQ(test::values_of(ops::mul(a, one)), (Values{32, 24}));
  EXPECT_EQ(test::values_of(ops::div(a, one)), (Values{2, 1.5}));
  EXPECT_EQ(test::values_of(ops::cat({a, one, b})), (Values{8, 6, 4, 2, 3}));
  EXPECT_NE(test::message_of([&] { ops::mul(one, a); }).find("must match the size"),
            std::string::npos);
  const Tensor leaf = test::leaf(test::kReference, test::vector({1, 2}));
  EXPECT_NE(test::message_of([&] { ops::mul(a, leaf); }).find("no gradient formula"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep

// DataParallel against PyTorch's results, and the equivalence: without batch norm, N
// devices give the result of one.
// sanitize: thread
#include "engine/parallel/data_parallel.h"

#include "engine/optim/sgd.h"
#include "tests/engine/parallel/nets.h"
#include "tests/machine_memory.h"
#include "tests/sanitized.h"
#include "tracer/record/recorder.h"

namespace lockstep {
namespace {

using parallel::DataParallel;
using test::Json;

class GoldenDataParallel : public testing::TestWithParam<const char*> {};

TEST_P(GoldenDataParallel, EqualsPyTorchInDouble) {
  constexpr double kTolerance = 1e-9;
  if (GetParam() == std::string("vgg16_b10_n4") && gibibytes_of_memory() < 20) {
    GTEST_SKIP() << "needs 18 GiB of memory";
  }
  if (kThreadSanitized && !std::string_view(GetParam()).starts_with("toy")) {
    GTEST_SKIP() << "takes minutes under TSan; the toy has as many threads";
  }
  const Json golden = test::read_golden(std::string("dp_") + GetParam() + ".json");
  const nn::ModulePtr model = test::golden_model(golden["net"], DType::f64);
  model->to(test::reference(0));
  DataParallel dp(model, test::devices(golden["devices"]));

  std::vector<int64_t> sizes{golden["batch"].get<int64_t>()};
  for (int64_t size : golden["image"]) sizes.push_back(size);
  const Tensor logits = dp(test::random("images", Shape(sizes), 1.7));
  EXPECT_EQ(tracer::step_facts().chunks, golden["chunks"].get<std::vector<int64_t>>());
  EXPECT_EQ(logits.device(), test::reference(0));
  const Tensor labels =
      test::on(test::reference(0), test::golden_labels(sizes[0], golden["classes"]));
  const Tensor loss = ops::cross_entropy(logits, labels);
  loss.backward();

  EXPECT_NEAR(ops::item(loss), golden["loss"], kTolerance * double(golden["loss"]));
  const std::vector<double> mine = test::values_of(logits);
  const size_t classes = golden["logits"][0].size();
  ASSERT_EQ(mine.size(), golden["logits"].size() * classes);
  for (size_t i = 0; i < mine.size(); ++i) {
    const double theirs = golden["logits"][i / classes][i % classes];
    EXPECT_NEAR(mine[i], theirs, kTolerance * std::max(1.0, std::abs(theirs)));
  }
  size_t compared = 0;
  for (auto& [name, parameter] : model->named_parameters()) {
    test::expect_fingerprint(name, parameter.grad(), golden["gradients"][name],
                             kTolerance);
    ++compared;
  }
  EXPECT_EQ(compared, golden["gradients"].size());
  // Replica 0 keeps its statistics; those of the other replicas are discarded.
  for (auto& [name, buffer] : model->named_buffers()) {
    if (test::ends_with(name, "num_batches_tracked")) {
      EXPECT_EQ(ops::item(buffer), 1) << name;
    } else {
      test::expect_fingerprint(name, buffer, golden["buffers"][name], kTolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, GoldenDataParallel,
                         testing::Values("toy_b4_n4", "toy_b5_n4",
                                         "resnet18_cifar_b5_n4"),
                         [](const auto& info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Large, GoldenDataParallel,
                         testing::Values("resnet18_cifar_b10_n2",
                                         "resnet18_cifar_b10_n3",
                                         "resnet18_cifar_b10_n4", "vgg16_b10_n4"),
                         [](const auto& info) { return std::string(info.param); });

/// Parameters after three steps of SGD on `devices` devices; 0 means without
/// DataParallel.
Tensors train(const nn::ModulePtr& model, int devices, const Tensor& images,
              int64_t classes) {
  test::fill_golden(*model, DType::f64);
  model->to(test::reference(0));
  nn::ModulePtr net = model;
  if (devices > 0) net = std::make_shared<DataParallel>(model, test::devices(devices));
  const Tensor input = devices > 0 ? images : test::on(test::reference(0), images);
  const Tensor labels =
      test::on(test::reference(0), test::golden_labels(images.size(0), classes));
  optim::Sgd sgd(model->named_parameters(), {0.05, 0.9, 1e-4});
  for (int step = 0; step < 3; ++step) {
    const Tensor loss = ops::cross_entropy((*net)(input), labels);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  return model->parameters();
}

void expect_equal_training(const std::function<nn::ModulePtr()>& make,
                           const Tensor& images, int64_t classes) {
  const nn::ModulePtr single = make();
  const Tensors expected = train(single, 0, images, classes);
  for (int n : {1, 2, 3, 4}) {
    SCOPED_TRACE(std::to_string(n) + " devices");
    const nn::ModulePtr replicated = make();
    const Tensors mine = train(replicated, n, images, classes);
    for (size_t i = 0; i < mine.size(); ++i) {
      EXPECT_LT(test::relative_l2(mine[i], expected[i]), 1e-12) << "parameter " << i;
    }
  }
}

TEST(DataParallelLaw, ToyTrainsAsOnOneDevice) {
  for (int64_t batch : {10, 3, 1}) {
    expect_equal_training([] { return test::in_double(test::make_toy); },
                          test::random("images", {batch, 5}), 2);
  }
}

TEST(DataParallelLaw, ConvolutionsTrainAsOnOneDevice) {
  for (int64_t batch : {7, 2}) {
    expect_equal_training([] { return test::in_double(test::make_small_net); },
                          test::random("images", {batch, 2, 8, 8}), 3);
  }
}

// With batch norm there is no equivalence: each replica normalizes its own chunk.
TEST(DataParallel, BatchNormSeesOnlyItsChunk) {
  const Tensor images = test::random("images", {6, 2, 4, 4}, 1.7);
  auto running_mean = [&](const Tensor& seen, int n) {
    const nn::ModulePtr model = test::in_double(test::make_batch_norm);
    model->to(test::reference(0));
    DataParallel dp(model, test::devices(n));
    dp(seen);
    EXPECT_EQ(ops::item(model->buffers()[2]), 1);
    return model->buffers()[0];
  };
  const Tensor chunk_0 = running_mean(images.narrowed(0, 2), 1);
  EXPECT_LT(test::distance(running_mean(images, 3), chunk_0), 1e-15);
  EXPECT_GT(test::distance(running_mean(images, 1), chunk_0), 1e-3);
}

TEST(DataParallel, EvaluationUsesEveryReplicasCopyOfTheBuffers) {
  const nn::ModulePtr model = test::in_double(test::make_batch_norm);
  test::fill_golden(*model, DType::f64);
  model->to(test::reference(0));
  const Tensor images = test::random("images", {5, 2, 4, 4});
  DataParallel dp(model, test::devices(3));
  dp.eval();
  autograd::NoGrad no_grad;
  const Tensor alone = (*model)(test::on(test::reference(0), images));
  EXPECT_EQ(test::distance(dp(images), alone), 0);
  EXPECT_EQ(ops::item(model->buffers()[2]), 0) << "evaluation does not count batches";
  EXPECT_FALSE(dp(images).requires_grad());
}

TEST(DataParallel, ChunksAndBytes) {
  const nn::ModulePtr model = test::in_double(test::make_toy);
  model->to(test::reference(0));
  for (const auto& [batch, n, chunks] :
       {std::tuple<int64_t, int, std::vector<int64_t>>{5, 4, {2, 2, 1}},
        {2, 4, {1, 1}},
        {1, 4, {1}},
        {9, 4, {3, 3, 3}},
        {3, 1, {3}}}) {
    DataParallel dp(model, test::devices(n));
    const Tensor y = dp(test::random("images", {batch, 5}));
    EXPECT_EQ(y.sizes(), (Shape{batch, 2}));
    EXPECT_EQ(tracer::step_facts().chunks, chunks);
    EXPECT_EQ(tracer::step_facts().output_bytes, batch * 2 * 8);
  }
}

TEST(DataParallel, AnInputOnDevice0GivesTheSame) {
  const nn::ModulePtr model = test::in_double(test::make_small_net);
  model->to(test::reference(0));
  DataParallel dp(model, test::devices(3));
  const Tensor images = test::random("images", {5, 2, 8, 8});
  const Tensor there = test::on(test::reference(0), images);
  EXPECT_EQ(test::distance(dp(images), dp(there)), 0);
  const auto chunks = parallel::scatter(there, test::devices(3));
  EXPECT_EQ(chunks[0].storage(), there.storage()) << "chunk 0 is a view";
  EXPECT_NE(chunks[1].storage(), there.storage());
  EXPECT_EQ(chunks[2].device(), test::reference(2));
  EXPECT_EQ(test::distance(chunks[2], images.narrowed(4, 1)), 0);
}

// The gradient also flows through the scatter: DataParallel may wrap an inner module.
TEST(DataParallel, PassesTheGradientOfItsInput) {
  const Tensor images = test::random("images", {5, 5});
  auto gradient = [&images](int n) {
    const nn::ModulePtr model = test::in_double(test::make_toy);
    test::fill_golden(*model, DType::f64);
    model->to(test::reference(0));
    const Tensor x = test::leaf(test::reference(0), images);
    const Tensor y = n > 0 ? DataParallel(model, test::devices(n))(ops::scale(x, 2))
                           : (*model)(ops::scale(x, 2));
    test::backward_from(y);
    return x.grad();
  };
  const Tensor expected = gradient(0);
  for (int n : {1, 2, 4}) {
    const Tensor mine = gradient(n);
    ASSERT_TRUE(mine.defined()) << n << " devices";
    EXPECT_LT(test::relative_l2(mine, expected), 1e-14) << n << " devices";
  }
}

}  // namespace
}  // namespace lockstep

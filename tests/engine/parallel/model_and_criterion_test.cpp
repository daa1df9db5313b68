// DataParallelModel and DataParallelCriterion: the loss is the mean of the chunks'
// means. That is DistributedDataParallel's law, and DataParallel's only if all chunks
// have the same size.
// sanitize: thread
#include "engine/parallel/model_and_criterion.h"

#include "engine/models/resnet.h"
#include "engine/train/train_step.h"
#include "tests/engine/distributed/nets.h"

namespace lockstep {
namespace {

using parallel::DataParallelCriterion;
using parallel::DataParallelModel;
using test::Batch;

struct CriterionNet {
  nn::ModulePtr (*make)();
  std::vector<int64_t> image;
  int64_t classes;

  nn::ModulePtr model(Device device) const {
    const nn::ModulePtr made = test::in_double(make);
    test::fill_golden(*made, DType::f64);
    made->to(device);
    return made;
  }
  Batch batch(int64_t rows) const { return Batch::golden(rows, image, classes); }
};

/// Convolutions, batch norms, both kinds of shortcut: a ResNet of two blocks.
nn::ModulePtr make_small_resnet() {
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<models::BasicBlock>(2, 2, 1),
      std::make_shared<models::BasicBlock>(2, 4, 2),
      std::make_shared<nn::AdaptiveAvgPool2d>(1), std::make_shared<test::Flatten>(),
      std::make_shared<nn::Linear>(4, 3)});
}

const CriterionNet kToyOnEach{test::make_toy, {5}, 2};
const CriterionNet kResNetOnEach{make_small_resnet, {2, 8, 8}, 3};

/// A loss and the gradients of the model's parameters.
struct Gradients {
  double loss;
  Tensors of;
};

Gradients gradients_of(const Tensor& loss, const nn::Module& model) {
  loss.backward();
  Gradients made{ops::item(loss), {}};
  for (const Tensor& parameter : model.parameters())
    made.of.push_back(parameter.grad());
  return made;
}

Gradients by_criterion(const CriterionNet& net, int64_t rows, int devices) {
  const nn::ModulePtr model = net.model(test::reference(0));
  DataParallelModel parallel(model, test::devices(devices));
  const Batch batch = net.batch(rows);
  const Tensors outputs = parallel.outputs_of(batch.images);
  const Tensors targets =
      parallel::scatter_targets(batch.labels, parallel.device_ids());
  return gradients_of(DataParallelCriterion()(outputs, targets), *model);
}

Gradients by_data_parallel(const CriterionNet& net, int64_t rows, int devices) {
  const nn::ModulePtr model = net.model(test::reference(0));
  parallel::DataParallel dp(model, test::devices(devices));
  const Batch batch = net.batch(rows);
  const Tensor labels = test::on(test::reference(0), batch.labels);
  return gradients_of(ops::cross_entropy(dp(batch.images), labels), *model);
}

/// Rank r gets the rows of chunk r. The loss is the mean over the ranks.
Gradients by_ddp(const CriterionNet& net, const std::vector<int64_t>& chunks) {
  std::vector<Gradients> of_rank(chunks.size());
  test::on_ranks({.size = static_cast<int>(chunks.size())}, [&](test::Rank& rank) {
    int64_t first = 0, rows = 0;
    for (int r = 0; r < rank.size; ++r) {
      if (r < rank.rank) first += chunks[r];
      rows += chunks[r];
    }
    const nn::ModulePtr model = net.model(rank.device);
    distributed::DistributedDataParallel ddp(model, rank.group, {});
    const Batch mine = net.batch(rows).rows(first, chunks[rank.rank]).on(rank.device);
    of_rank[rank.rank] =
        gradients_of(ops::cross_entropy(ddp(mine.images), mine.labels), *model);
  });
  double sum = 0;
  for (const Gradients& rank : of_rank) sum += rank.loss;
  return {sum / static_cast<double>(chunks.size()), of_rank[0].of};
}

double largest_difference(const Gradients& a, const Gradients& b) {
  EXPECT_EQ(a.of.size(), b.of.size());
  double largest = std::abs(a.loss - b.loss);
  for (size_t i = 0; i < a.of.size(); ++i) {
    largest = std::max(largest, test::distance(a.of[i], b.of[i]));
  }
  return largest;
}

class Criterion : public testing::TestWithParam<const CriterionNet*> {};

TEST_P(Criterion, EqualsDdpWithTheseRanksAndNotDataParallel) {
  const CriterionNet& net = *GetParam();
  const Gradients mine = by_criterion(net, 10, 4);
  EXPECT_EQ(tracer::step_facts().chunks, (std::vector<int64_t>{3, 3, 3, 1}));
  EXPECT_EQ(tracer::step_facts().output_bytes, 10 * net.classes * 8);
  EXPECT_LT(largest_difference(mine, by_ddp(net, {3, 3, 3, 1})), 1e-12);
  EXPECT_GT(largest_difference(mine, by_data_parallel(net, 10, 4)), 1e-3);
}

TEST_P(Criterion, EqualsDataParallelIfTheChunksAreEqual) {
  const CriterionNet& net = *GetParam();
  for (const auto& [rows, devices] : {std::pair{8, 4}, {9, 3}}) {
    EXPECT_LT(largest_difference(by_criterion(net, rows, devices),
                                 by_data_parallel(net, rows, devices)),
              1e-12);
  }
}

TEST_P(Criterion, OneDeviceIsBitwiseTheModelAlone) {
  const CriterionNet& net = *GetParam();
  const nn::ModulePtr model = net.model(test::reference(0));
  const Batch batch = net.batch(10).on(test::reference(0));
  const Gradients alone =
      gradients_of(ops::cross_entropy((*model)(batch.images), batch.labels), *model);
  EXPECT_EQ(largest_difference(by_criterion(net, 10, 1), alone), 0);
}

INSTANTIATE_TEST_SUITE_P(Nets, Criterion, testing::Values(&kToyOnEach, &kResNetOnEach),
                         [](const auto& info) {
                           return info.param == &kToyOnEach ? "toy" : "small_resnet";
                         });

TEST(DataParallelModel, LeavesOutputsOnTheirDevices) {
  const nn::ModulePtr model = kToyOnEach.model(test::reference(0));
  const Batch batch = kToyOnEach.batch(5);
  DataParallelModel parallel(model, test::devices(4));
  const Tensors outputs = parallel.outputs_of(batch.images);
  ASSERT_EQ(outputs.size(), 3u) << "one device is idle";
  const Tensors targets =
      parallel::scatter_targets(batch.labels, parallel.device_ids());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(outputs[i].device(), test::reference(i));
    EXPECT_EQ(targets[i].device(), test::reference(i));
    EXPECT_EQ(targets[i].size(0), outputs[i].size(0));
  }
  EXPECT_EQ(DataParallelCriterion()(outputs, targets).device(), test::reference(0));

  DataParallelModel alone(model, test::devices(1));
  EXPECT_EQ(alone(batch.images).size(0), 5) << "the output itself, no list";
  EXPECT_EQ(alone.outputs_of(batch.images).size(), 1u);
}

TEST(DataParallelCriterion, RequiresATargetPerOutput) {
  const Tensors outputs =
      DataParallelModel(kToyOnEach.model(test::reference(0)), test::devices(4))
          .outputs_of(kToyOnEach.batch(8).images);
  EXPECT_EQ(test::message_of([&] { DataParallelCriterion()(outputs, {}); }),
            "DataParallelCriterion: 4 outputs, but 0 chunks of targets");
}

nn::ModulePtr make_eight_classes() { return std::make_shared<nn::Linear>(5, 8); }

// Each device's accuracy has the weight of its chunk, unlike its loss. With eight
// classes, Acc@5 is neither 0 nor 100 %.
TEST(DataParallelCriterion, AccuracyIsThatOfTheWholeBatch) {
  const CriterionNet net{make_eight_classes, {5}, 8};
  const auto accuracies = [&net](bool on_each) {
    const nn::ModulePtr model = net.model(test::reference(0));
    std::shared_ptr<parallel::DataParallel> wrapper;
    if (on_each) {
      wrapper = std::make_shared<DataParallelModel>(model, test::devices(4));
    } else {
      wrapper = std::make_shared<parallel::DataParallel>(model, test::devices(4));
    }
    train::TrainStep step(model, wrapper, optim::SgdOptions{}, {});
    Batch batch = net.batch(22);  // chunks of 6, 6, 6 and 4
    if (!on_each) batch.labels = test::on(test::reference(0), batch.labels);
    const train::StepTensors made = step.run(batch.images, batch.labels);
    return std::pair(ops::item(made.acc1), ops::item(made.acc5));
  };
  const auto [mine1, mine5] = accuracies(true);
  const auto [theirs1, theirs5] = accuracies(false);
  EXPECT_NEAR(mine1, theirs1, 1e-12);
  EXPECT_NEAR(mine5, theirs5, 1e-12);
  for (const double theirs : {theirs1, theirs5}) {
    EXPECT_GT(theirs, 0);
    EXPECT_LT(theirs, 100);
  }
  EXPECT_GT(theirs5, theirs1);
}

}  // namespace
}  // namespace lockstep

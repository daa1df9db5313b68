// Replayed steps give the losses and parameters of ordinary steps, whatever work runs
// between the steps.
#include "engine/train/step_graph.h"

#include "engine/data/generated.h"
#include "engine/runtime/pinned_memory.h"
#include "engine/train/trainer.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/parallel/nets.h"
#include "tests/engine/values.h"
#include "tracer/record/collect.h"

namespace lockstep::train {
namespace {

constexpr int64_t kSize = 8, kClasses = 5, kPictures = 22, kBatch = 4;
constexpr int kEpochs = 3;

class StepGraphs : public test::OnCuda {
 protected:
  /// Real hardware adds in any order; the simulated GPU adds in a fixed order.
  double tolerance() const { return real() ? 1e-4 : 0; }
};

nn::ModulePtr small_net() {
  const nn::Conv2dSettings conv{.in = 3, .out = 8, .kernel = 3, .padding = 1};
  auto net = std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Conv2d>(conv), std::make_shared<nn::BatchNorm2d>(8),
      std::make_shared<nn::ReLU>(),
      std::make_shared<nn::MaxPool2d>(ops::Pool2dOptions{2, 2, 0}),
      std::make_shared<test::Flatten>(),
      std::make_shared<nn::Linear>(8 * kSize / 2 * kSize / 2, kClasses)});
  net->assign_paths("");
  test::fill_golden(*net, DType::f32);
  return net;
}

/// Batches are in pinned memory, as in `train`.
std::unique_ptr<data::DataLoader> loader() {
  return std::make_unique<data::DataLoader>(
      std::make_shared<data::Generated>(std::vector<int64_t>{3, kSize, kSize}, kClasses,
                                        kPictures),
      data::LoaderOptions{
          .batch_size = kBatch,
          .shuffle = true,
          .memory = runtime::context(test::kGpu).driver()->pinned_memory()});
}

struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<double>> tensors;
  int64_t replays = 0;
};

/// Tensors with the sizes of activations, created before a step and read after it.
class Neighbours {
 public:
  void make() {
    tensors_.clear();
    for (const Shape& sizes : {Shape{4, 8, 8, 8}, Shape{4, 8, 4, 4}, Shape{4, 128},
                               Shape{4, 5}, Shape{8}, Shape{4, 3, 8, 8}}) {
      tensors_.push_back(ops::full_like(Tensor::empty(sizes, test::kGpu), 7));
    }
  }
  void expect_untouched() const {
    for (const Tensor& tensor : tensors_) {
      for (const double value : test::values_of(tensor)) ASSERT_EQ(value, 7);
    }
  }

 private:
  Tensors tensors_;
};

Trained trained(bool graph) {
  const nn::ModulePtr net = small_net();
  TrainerOptions options;
  options.devices = {test::kGpu};
  options.quiet = true;
  options.graph = graph;
  options.optimizer = optim::SgdOptions{0.05, 0.9, 1e-4};
  Trainer trainer(net, options);
  Trained result;
  Neighbours neighbours;
  trainer.before_step = [&](int64_t) { neighbours.make(); };
  trainer.after_step = [&](const StepResult& step) {
    result.losses.push_back(step.loss);
    result.losses.push_back(step.acc1);
    neighbours.expect_untouched();
  };
  const auto pictures = loader();
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    if (epoch == 2) trainer.set_lr(0.01);
    trainer.train_epoch(*pictures, epoch);
    trainer.validate(*pictures);
  }
  for (auto& [name, tensor] : net->named_parameters()) {
    result.tensors.push_back(test::values_of(tensor));
  }
  for (auto& [name, tensor] : net->named_buffers()) {
    result.tensors.push_back(test::values_of(tensor));
  }
  result.replays = trainer.graph().replays();
  return result;
}

TEST_P(StepGraphs, AStepReplayedIsTheStepItself) {
  const Trained mine = trained(true), theirs = trained(false);
  EXPECT_EQ(theirs.replays, 0);
  // An epoch's smaller last batch and the first step with a new learning rate are run,
  // not replayed.
  EXPECT_EQ(mine.replays, 4 + 5 + 4);
  ASSERT_EQ(mine.losses.size(), theirs.losses.size());
  for (size_t i = 0; i < mine.losses.size(); ++i) {
    EXPECT_NEAR(mine.losses[i], theirs.losses[i], tolerance() * theirs.losses[i]) << i;
  }
  for (size_t i = 0; i < mine.tensors.size(); ++i) {
    EXPECT_LE(
        test::distance(test::vector(mine.tensors[i]), test::vector(theirs.tensors[i])),
        tolerance())
        << i;
  }
}

/// Recording requires that every kernel is launched individually.
TEST_P(StepGraphs, ATracedStepIsNotReplayed) {
  tracer::start_recording();
  const Trained mine = trained(true);
  tracer::stop_recording();
  tracer::collect();
  EXPECT_EQ(mine.replays, 0);
}

TEST_P(StepGraphs, DropoutIsRefused) {
  const Tensor x =
      test::on(test::kGpu, test::signed_tensor("x", {4, 6}, 1, DType::f32));
  StepGraph graph;
  const std::string said = test::message_of([&] {
    graph.run(x, x, 0.1, [](const Tensor& in, const Tensor&) {
      return StepTensors{.output = ops::dropout(in, 0.5, true)};
    });
  });
  EXPECT_NE(said.find("--dropout 0"), std::string::npos) << said;
}

/// A step that fails during capture leaves the device usable.
TEST_P(StepGraphs, AFailureEndsTheCapture) {
  const Tensor x =
      test::on(test::kGpu, test::signed_tensor("x", {4, 6}, 1, DType::f32));
  StepGraph graph;
  int calls = 0;
  const auto step = [&calls](const Tensor& in, const Tensor&) {
    const Tensor twice = ops::scale(in, 2);
    if (++calls == 2) throw std::runtime_error("the second step fails");
    return StepTensors{.output = twice};
  };
  const auto run = [&] { return graph.run(x, x, 0.1, step).output; };
  run();
  EXPECT_EQ(test::message_of(run), "the second step fails");
  const Tensor doubled = run();
  EXPECT_EQ(graph.replays(), 1);
  EXPECT_EQ(test::distance(doubled, ops::scale(x, 2)), 0);
}

INSTANTIATE_TEST_SUITE_P(Gpu, StepGraphs, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::train

// Replayed steps give the losses and parameters of ordinary steps, whatever work runs
// between the steps.
// sanitize: thread
#include "engine/train/step_graph.h"

#include <thread>

#include "engine/data/generated.h"
#include "engine/distributed/collectives/make_communicator.h"
#include "engine/runtime/pinned_memory.h"
#include "engine/train/trainer.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/distributed/ranks.h"
#include "tests/engine/parallel/nets.h"
#include "tests/engine/values.h"
#include "tracer/record/collect.h"

namespace lockstep::train {
namespace {

constexpr int64_t kSize = 8, kClasses = 5, kPictures = 22, kBatch = 4;
constexpr int kEpochs = 3;
constexpr Milliseconds kTimeout{20'000};

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
std::unique_ptr<data::DataLoader> loader(int64_t pictures, uint64_t seed) {
  return std::make_unique<data::DataLoader>(
      std::make_shared<data::Generated>(std::vector<int64_t>{3, kSize, kSize}, kClasses,
                                        pictures),
      data::LoaderOptions{
          .batch_size = kBatch,
          .shuffle = true,
          .seed = seed,
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
  explicit Neighbours(parallel::Devices devices) : devices_(std::move(devices)) {}
  void make() {
    tensors_.clear();
    for (const Device device : devices_) {
      for (const int64_t rows : {1, 2, 4}) {
        for (const Shape& sizes :
             {Shape{rows, 8, 8, 8}, Shape{rows, 8, 4, 4}, Shape{rows, 128},
              Shape{rows, 5}, Shape{8}, Shape{rows, 3, 8, 8}}) {
          tensors_.push_back(ops::full_like(Tensor::empty(sizes, device), 7));
        }
      }
    }
  }
  void expect_untouched() const {
    for (const Tensor& tensor : tensors_) {
      for (const double value : test::values_of(tensor)) ASSERT_EQ(value, 7);
    }
  }

 private:
  const parallel::Devices devices_;
  Tensors tensors_;
};

TrainerOptions options_for(Mode mode, int devices, bool graph) {
  TrainerOptions options;
  options.mode = mode;
  for (int d = 0; d < devices; ++d) options.devices.push_back({DeviceType::cuda, d});
  options.input_on_device0 = is_data_parallel(mode);
  options.quiet = true;
  options.warn = false;
  options.graph = graph;
  options.optimizer = optim::SgdOptions{0.05, 0.9, 1e-4};
  return options;
}

Trained trained(const TrainerOptions& options, int64_t pictures = kPictures,
                uint64_t seed = 0) {
  const nn::ModulePtr net = small_net();
  Trainer trainer(net, options);
  Trained result;
  Neighbours neighbours(options.devices);
  trainer.before_step = [&](int64_t) { neighbours.make(); };
  trainer.after_step = [&](const StepResult& step) {
    result.losses.push_back(step.loss);
    result.losses.push_back(step.acc1);
    neighbours.expect_untouched();
  };
  const auto batches = loader(pictures, seed);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    if (epoch == 2) trainer.set_lr(0.01);
    trainer.train_epoch(*batches, epoch);
    trainer.validate(*batches);
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

void expect_same(const Trained& mine, const Trained& theirs, double tolerance) {
  ASSERT_EQ(mine.losses.size(), theirs.losses.size());
  for (size_t i = 0; i < mine.losses.size(); ++i) {
    EXPECT_NEAR(mine.losses[i], theirs.losses[i], tolerance * theirs.losses[i]) << i;
  }
  for (size_t i = 0; i < mine.tensors.size(); ++i) {
    EXPECT_LE(
        test::distance(test::vector(mine.tensors[i]), test::vector(theirs.tensors[i])),
        tolerance)
        << i;
  }
}

TEST_P(StepGraphs, AStepReplayedIsTheStepItself) {
  const Trained mine = trained(options_for(Mode::single, 1, true));
  const Trained theirs = trained(options_for(Mode::single, 1, false));
  EXPECT_EQ(theirs.replays, 0);
  // An epoch's smaller last batch and the first step with a new learning rate are run,
  // not replayed.
  EXPECT_EQ(mine.replays, 4 + 5 + 4);
  expect_same(mine, theirs, tolerance());
}

/// Three simulated GPUs have a library for broadcast and reduce; two copy. All devices
/// and all their copies are in one graph.
TEST_P(StepGraphs, AStepOfDataParallelIsOneGraph) {
  for (const Mode mode : {Mode::dp, Mode::dp_criterion}) {
    for (const int devices : {2, int{test::kGpus}}) {
      for (const bool loss_in_forward : {false, true}) {
        if (loss_in_forward && mode == Mode::dp) continue;
        SCOPED_TRACE(std::string(name(mode)) + " on " + std::to_string(devices));
        TrainerOptions options = options_for(mode, devices, false);
        options.loss_in_forward = loss_in_forward;
        const Trained theirs = trained(options);
        options.graph = true;
        const Trained mine = trained(options);
        EXPECT_EQ(mine.replays, 4 + 5 + 4);
        expect_same(mine, theirs, tolerance());
      }
    }
  }
}

/// Each rank replays its step, with its collectives. The second step is not captured,
/// since DDP rebuilds its buckets in it. Ranks have different batches; no batch of an
/// epoch is smaller, so that evaluations follow replayed steps.
TEST_P(StepGraphs, AStepOfDdpIsOneGraphPerRank) {
  const int size = real() ? 1 : int{test::kGpus};
  for (const bool sync_bn : {false, true}) {
    const auto all_trained = [&](bool graph) {
      const auto store = std::make_shared<distributed::HashStore>(kTimeout);
      std::vector<Trained> results(size);
      std::vector<std::jthread> ranks;
      for (int rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
          const Device device{DeviceType::cuda, rank};
          TrainerOptions options = options_for(Mode::ddp, 1, graph);
          options.devices = {device};
          options.sync_bn = sync_bn;
          options.group = std::make_shared<distributed::ProcessGroup>(
              distributed::try_nccl({.backend = "nccl",
                                     .store = store,
                                     .rank = rank,
                                     .size = size,
                                     .timeout = kTimeout,
                                     .device = device}));
          results[rank] = trained(options, 5 * kBatch, rank);
        });
      }
      ranks.clear();
      return results;
    };
    const std::vector<Trained> mine = all_trained(true), theirs = all_trained(false);
    for (int rank = 0; rank < size; ++rank) {
      SCOPED_TRACE(rank);
      EXPECT_EQ(mine[rank].replays, 3 + 5 + 3);
      expect_same(mine[rank], theirs[rank], tolerance());
    }
  }
}

/// The ring moves data by what its host threads do, which a graph cannot repeat.
TEST_P(StepGraphs, TheRingIsRefused) {
  const std::string said = test::message_of([] {
    test::on_ranks({2, test::Wire::local, DeviceType::cuda}, [](test::Rank& rank) {
      TrainerOptions options = options_for(Mode::ddp, 1, true);
      options.devices = {rank.device};
      options.group = rank.group;
      const Trainer trainer(small_net(), options);
    });
  });
  EXPECT_NE(said.find("omit --cuda-graph"), std::string::npos) << said;
}

/// The host cannot have a result that is not computed yet, and would wait forever.
TEST_P(StepGraphs, AStepThatReadsAResultIsRefused) {
  const Tensor x =
      test::on(test::kGpu, test::signed_tensor("x", {4, 6}, 1, DType::f32));
  runtime::DeviceContext& device = runtime::context(test::kGpu);
  const std::vector<std::function<void(const Tensor&)>> reads{
      [&](const Tensor&) { device.synchronize(); },
      [](const Tensor& result) { test::values_of(result); }};
  for (const auto& read : reads) {
    StepGraph graph({test::kGpu});
    const auto run = [&] {
      graph.run(x, x, 0.1, [&](const Tensor& in, const Tensor&) {
        const Tensor twice = ops::scale(in, 2);
        read(twice);
        return StepTensors{.output = twice};
      });
    };
    run();
    const std::string said = test::message_of(run);
    EXPECT_NE(said.find("omit --cuda-graph"), std::string::npos) << said;
    test::message_of([&] { device.rethrow(); });  // the copy has failed, too
  }
}

/// A replay would copy whatever the host's memory holds by then.
TEST_P(StepGraphs, AStepThatCopiesFromTheHostIsRefused) {
  const Tensor x =
      test::on(test::kGpu, test::signed_tensor("x", {4, 6}, 1, DType::f32));
  const Tensor weights = test::signed_tensor("w", {4, 6}, 1, DType::f32);
  StepGraph graph({test::kGpu});
  const auto run = [&] {
    graph.run(x, x, 0.1, [&](const Tensor& in, const Tensor&) {
      return StepTensors{.output =
                             ops::add(in, ops::copy_to(weights, test::kGpu, {"h2d"}))};
    });
  };
  run();
  const std::string said = test::message_of(run);
  EXPECT_NE(said.find("omit --cuda-graph"), std::string::npos) << said;
  // Later copies through the same buffers work.
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(test::values_of(test::on(test::kGpu, weights)), test::values_of(weights));
  }
}

/// Nothing runs on a GPU between the end of a replay and what the host enqueues next.
TEST_P(StepGraphs, AnIdleStreamNeedsNoTaskToEndAStep) {
  if (real()) GTEST_SKIP() << "only the simulated GPU counts marks";
  const Tensor x =
      test::on(test::kGpu, test::signed_tensor("x", {4, 6}, 1, DType::f32));
  StepGraph graph({test::kGpu});
  std::vector<int64_t> marks;
  for (int step = 0; step < 6; ++step) {
    graph.run(x, x, 0.1, [](const Tensor& in, const Tensor&) {
      return StepTensors{.output = ops::scale(in, 2)};
    });
    runtime::context(test::kGpu).compute().record_event()->wait();
    const int64_t before = test::marks_recorded();
    runtime::context(test::kGpu).synchronize();
    marks.push_back(test::marks_recorded() - before);
  }
  EXPECT_EQ(marks.back(), 0);
}

/// In one process, one net is trained after another: the next has the memory of both
/// steps of the first, the one that was not captured and the graph.
TEST_P(StepGraphs, MemoryOfAGraphIsCommonAfterItsEnd) {
  const Tensor x =
      test::on(test::kGpu, test::signed_tensor("x", {1 << 18}, 1, DType::f32));
  const runtime::Allocator& allocator = runtime::context(test::kGpu).allocator();
  constexpr int kTensors = 8;
  {
    StepGraph graph({test::kGpu});
    for (int step = 0; step < 3; ++step) {
      graph.run(x, x, 0.1, [](const Tensor& in, const Tensor&) {
        Tensors all;
        for (int i = 0; i < kTensors; ++i) all.push_back(ops::scale(in, i));
        return StepTensors{.output = all[0]};
      });
    }
    runtime::context(test::kGpu).synchronize();
  }
  const int64_t before = allocator.held_bytes();
  Tensors next;
  for (int i = 0; i < 2 * kTensors; ++i) {
    next.push_back(Tensor::empty(x.sizes(), test::kGpu));
  }
  EXPECT_EQ(allocator.held_bytes(), before);
}

/// Recording requires that every kernel is launched individually.
TEST_P(StepGraphs, ATracedStepIsNotReplayed) {
  tracer::start_recording();
  const Trained mine = trained(options_for(Mode::single, 1, true));
  tracer::stop_recording();
  tracer::collect();
  EXPECT_EQ(mine.replays, 0);
}

TEST_P(StepGraphs, DropoutIsRefused) {
  const Tensor x =
      test::on(test::kGpu, test::signed_tensor("x", {4, 6}, 1, DType::f32));
  StepGraph graph({test::kGpu});
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
  StepGraph graph({test::kGpu});
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

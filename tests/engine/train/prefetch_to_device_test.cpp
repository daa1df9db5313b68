// With `prefetch_to_device`, a step copies the next step's batch, and nothing else
// changes.
// sanitize: address thread
#include <string>

#include "engine/runtime/pinned_memory.h"
#include "engine/train/trainer.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/parallel/nets.h"
#include "tests/engine/values.h"
#include "tracer/record/collect.h"

namespace lockstep::train {
namespace {

constexpr int64_t kBatches = 4;
using Log = std::vector<std::string>;

/// Two rows per batch. `broken` cannot be loaded.
class Rows : public data::Dataset {
 public:
  explicit Rows(int64_t broken = -1) : broken_(broken) {}
  int64_t size() const override { return 2 * kBatches; }
  std::vector<int64_t> sample_shape() const override { return {2, 8, 8}; }
  int64_t classes() const override { return 3; }
  int64_t get(int64_t index, data::Draws& draws,
              std::span<float> image) const override {
    if (index == broken_) throw std::runtime_error("the disk is gone");
    for (float& value : image) value = static_cast<float>(draws.uniform());
    return index % classes();
  }

 private:
  const int64_t broken_;
};

/// A run of `train`: what happened in which order, the losses, and the weights.
struct Training {
  explicit Training(TrainerOptions options) : trainer(make_net(), with_sgd(options)) {
    trainer.after_step = [this](const StepResult& step) {
      log.push_back("step " + std::to_string(step.step));
      losses.push_back(step.loss);
    };
  }
  static nn::ModulePtr make_net() {
    const nn::ModulePtr net = test::make_small_net();
    net->assign_paths("");
    test::fill_golden(*net, DType::f32);
    return net;
  }
  static TrainerOptions with_sgd(TrainerOptions options) {
    if (options.devices.empty()) options.devices = {test::reference(0)};
    options.quiet = true;
    options.optimizer = optim::SgdOptions{0.05, 0.9, 1e-4};
    return options;
  }
  data::DataLoader loader(int64_t broken = -1) {
    data::LoaderOptions options{.batch_size = 2};
    options.on_batch = [this](int, int64_t batch, int64_t, int64_t) {
      log.push_back("batch " + std::to_string(batch));
      if (at_batch) at_batch(batch);
    };
    if (trainer.options().devices[0].type == DeviceType::cuda) {
      options.memory = runtime::context(test::kGpu).driver()->pinned_memory();
    }
    return {std::make_shared<Rows>(broken), options};
  }
  std::vector<std::vector<double>> weights() {
    std::vector<std::vector<double>> values;
    for (auto& [name, tensor] : trainer.model()->named_parameters()) {
      values.push_back(test::values_of(tensor));
    }
    return values;
  }

  Trainer trainer;
  std::function<void(int64_t)> at_batch;
  Log log;
  std::vector<double> losses;
};

TrainerOptions ahead() { return {.prefetch_to_device = true}; }

Log log_of(TrainerOptions options) {
  Training run(std::move(options));
  data::DataLoader loader = run.loader();
  run.trainer.train_epoch(loader, 0, 3);
  return run.log;
}

/// Nothing is fetched for a step that is not made.
TEST(PrefetchToDevice, ABatchIsFetchedInTheStepBefore) {
  EXPECT_EQ(log_of({}),
            (Log{"batch 0", "step 0", "batch 1", "step 1", "batch 2", "step 2"}));
  EXPECT_EQ(log_of(ahead()),
            (Log{"batch 0", "batch 1", "step 0", "batch 2", "step 1", "step 2"}));
}

/// A trace has each step's copies in that step: also the first one's.
TEST(PrefetchToDevice, ARecordedStepFetchesItsOwnBatch) {
  TrainerOptions options = ahead();
  options.first_traced = 2;
  Training run(options);
  run.trainer.before_step = [](int64_t step) {
    if (step == 2) tracer::start_recording();
  };
  data::DataLoader loader = run.loader();
  run.trainer.train_epoch(loader, 0);
  tracer::stop_recording();
  EXPECT_EQ(run.log, (Log{"batch 0", "batch 1", "step 0", "step 1", "batch 2", "step 2",
                          "batch 3", "step 3"}));
  std::map<int64_t, int> copies;
  for (const tracer::Event& event : tracer::collect()) {
    if (event.is("copy") && event.name == "h2d") ++copies[event.step];
  }
  EXPECT_EQ(copies, (std::map<int64_t, int>{{2, 2}, {3, 2}}));
}

TEST(PrefetchToDevice, AStepFailsByItsOwnBatch) {
  Training run(ahead());
  data::DataLoader loader = run.loader(4);
  const std::string said =
      test::message_of([&] { run.trainer.train_epoch(loader, 0); });
  EXPECT_EQ(said, "the disk is gone");
  EXPECT_EQ(run.log, (Log{"batch 0", "batch 1", "step 0", "step 1"}));
}

TEST(PrefetchToDevice, AnEpochThatEndsEarlyLeavesNothingToTheNext) {
  Training run(ahead());
  data::DataLoader loader = run.loader();
  const auto log = run.trainer.after_step;
  run.trainer.after_step = [&](const StepResult& step) {
    log(step);
    Trainer::stop = step.step == 1;
  };
  run.trainer.train_epoch(loader, 0);  // has batch 2 when it stops
  Trainer::stop = false;
  run.log.clear();
  run.trainer.train_epoch(loader, 1, 3);
  EXPECT_EQ(run.log, (Log{"batch 0", "step 2"}));
}

class PrefetchToGpu : public test::OnCuda {};

/// The GPU copies the next batch although the host has not read this step's loss.
TEST_P(PrefetchToGpu, TheResultsAreTheSame) {
  const auto trained = [](bool prefetch, bool graph) {
    TrainerOptions options;
    options.devices = {test::kGpu};
    options.prefetch_to_device = prefetch;
    options.graph = graph;
    auto run = std::make_unique<Training>(options);
    data::DataLoader loader = run->loader();
    for (int epoch = 0; epoch < 2; ++epoch) {
      run->trainer.train_epoch(loader, epoch);
      run->trainer.validate(loader);
    }
    return run;
  };
  const auto plain = trained(false, false);
  for (const bool graph : {false, true}) {
    const int64_t before = test::direct_copies();
    const auto mine = trained(true, graph);
    if (!real()) {
      EXPECT_EQ(test::direct_copies() - before, 4 * kBatches);
      EXPECT_EQ(mine->losses, plain->losses);
      EXPECT_EQ(mine->weights(), plain->weights());
    }
    for (size_t i = 0; i < plain->losses.size(); ++i) {
      EXPECT_NEAR(mine->losses[i], plain->losses[i], 1e-4 * plain->losses[i]);
    }
  }
}

/// The host turns to the next batch before it waits for a loss: here, the GPU computes
/// nothing until the batch has been fetched.
TEST_P(PrefetchToGpu, TheCopyOverlapsTheStep) {
  if (real()) GTEST_SKIP() << "the simulated GPU can be paused";
  for (const bool graph : {false, true}) {
    TrainerOptions options = ahead();
    options.devices = {test::kGpu};
    options.graph = graph;
    Training run(options);
    // The last step fetches nothing, and a capture begins on an idle GPU.
    run.trainer.before_step = [graph](int64_t step) {
      const bool replayed = step > 1;
      if (step < kBatches - 1 && (!graph || replayed)) test::pause_gpus(true);
    };
    run.at_batch = [](int64_t batch) {
      if (batch > 0) test::pause_gpus(false);
    };
    data::DataLoader loader = run.loader();
    run.trainer.train_epoch(loader, 0);
    EXPECT_EQ(run.losses.size(), size_t{kBatches});
    EXPECT_EQ(run.trainer.graph().replays(), graph ? kBatches - 1 : 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, PrefetchToGpu, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::train

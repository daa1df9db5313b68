// Features on N−1 devices, the classifier on one: the same training as on one device,
// and as DataParallel around the features on N−1 devices. A resumed run continues
// bitwise.
// sanitize: thread
#include <unistd.h>

#include <filesystem>

#include "engine/data/loader.h"
#include "engine/runtime/device_context.h"
#include "engine/train/checkpoint.h"
#include "tests/engine/sharing/hybrid_way.h"

namespace lockstep {
namespace {

using test::by_dp_features;
using test::by_hybrid;
using test::by_one_device;
using test::Hybrid;
using test::Outcome;
using test::Problem;
using train::Mode;
using train::Trainer;

Problem small_vgg(bool batch_norm, double dropout, std::vector<int64_t> rows = {8, 8}) {
  return {[=] { return test::make_small_vgg(batch_norm, dropout); },
          {2, 8, 8},
          3,
          std::move(rows)};
}

/// Batches of 9 in chunks of 3; of 10 in 4, 4, 2; of 4 in 2, 2, and an idle replica.
const std::vector<int64_t> kBatches{9, 10, 4};

class HybridOn : public testing::TestWithParam<int> {
 protected:
  Problem problem(bool batch_norm = false, double dropout = 0) const {
    Problem made = small_vgg(batch_norm, dropout, kBatches);
    made.devices = GetParam();
    return made;
  }
};

TEST_P(HybridOn, TrainsAsOneDevice) {
  EXPECT_LT(test::difference(by_hybrid(problem()), by_one_device(problem())), 1e-12);
}

TEST_P(HybridOn, TrainsAsDataParallelFeaturesWithBatchNorm) {
  const Outcome mine = by_hybrid(problem(true));
  const Outcome theirs = by_dp_features(problem(true), GetParam() - 1);
  EXPECT_LT(test::difference(mine, theirs), 1e-12);
  EXPECT_LT(test::largest_distance(mine.buffers, theirs.buffers), 1e-12);
  EXPECT_LT(test::largest_distance(mine.state, theirs.state), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Devices, HybridOn, testing::Values(2, 3, 4));

/// Returns the hashes of the bits of each replica's weights.
std::vector<uint64_t> weights_of_replicas(const Hybrid& hybrid) {
  std::vector<uint64_t> bits;
  for (const nn::ModulePtr& replica : hybrid.features->replicas()) {
    bits.push_back(test::bits_of(replica->parameters()));
  }
  return bits;
}

struct KeptEqual {
  const char* name;
  optim::AnyOptions optimizer;
  std::optional<double> clip;
};

class ReplicasOf : public testing::TestWithParam<KeptEqual> {};

TEST_P(ReplicasOf, HaveTheSameBitsAfterEachStep) {
  Problem problem = small_vgg(true, 0, {9, 4, 10});
  problem.optimizer = GetParam().optimizer;
  const Hybrid hybrid(problem);
  train::TrainStep step(hybrid.model, hybrid.model, problem.optimizer,
                        {.clip_grad_norm = GetParam().clip,
                         .accuracy = false,
                         .hybrid = hybrid.update.get()});
  uint64_t last = 0;
  for (size_t i = 0; i < problem.rows.size(); ++i) {
    step.optimizer().set_lr(0.05 / static_cast<double>(i + 1));
    const test::Batch batch = test::for_hybrid(hybrid, problem.batch(i));
    step.run(batch.images, batch.labels);
    const std::vector<uint64_t> bits = weights_of_replicas(hybrid);
    ASSERT_EQ(bits.size(), 3u);
    test::expect_all_equal(bits);
    EXPECT_NE(std::exchange(last, bits[0]), bits[0]) << "it learns";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, ReplicasOf,
    testing::Values(KeptEqual{"sgd", optim::SgdOptions{0.05, 0.9, 1e-2}, {}},
                    KeptEqual{"clipped", optim::SgdOptions{0.05, 0.9, 1e-2}, 1e-3},
                    KeptEqual{"adam", optim::AdamOptions{}, {}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Hybrid, ClipsTheNormOfTheWholeModel) {
  const Problem problem = small_vgg(false, 0, kBatches);
  const auto clipped = [&](const nn::ModulePtr& model, sharing::HybridUpdate* update,
                           auto inputs) {
    return test::train(problem, model, model,
                       {.clip_grad_norm = 1e-2, .accuracy = false, .hybrid = update},
                       inputs);
  };
  const Hybrid hybrid(problem);
  const Outcome mine = clipped(hybrid.model, hybrid.update.get(), [&](size_t i) {
    return test::for_hybrid(hybrid, problem.batch(i));
  });
  const nn::ModulePtr single = problem.model(test::reference(0));
  const Outcome theirs = clipped(single, nullptr, [&](size_t i) {
    return problem.batch(i).on(test::reference(0));
  });
  EXPECT_LT(test::difference(mine, theirs), 1e-12);
}

// Two batches per step: the gradients are summed once, after the second.
TEST(Hybrid, AccumulatesBeforeItSums) {
  const Problem problem = small_vgg(false, 0, {9, 9});
  const auto accumulate = [&](train::TrainStep& step, const nn::Module& model,
                              auto inputs) {
    for (size_t i = 0; i < 2; ++i) {
      const test::Batch batch = inputs(problem.batch(i));
      step.run(batch.images, batch.labels, {i == 0, i == 1, 2});
    }
    return test::on_host(model.parameters());
  };
  const Hybrid hybrid(problem);
  train::TrainStep mine(hybrid.model, hybrid.model, problem.optimizer,
                        {.accuracy = false, .hybrid = hybrid.update.get()});
  const nn::ModulePtr single = problem.model(test::reference(0));
  train::TrainStep theirs(single, single, problem.optimizer, {.accuracy = false});
  EXPECT_LT(
      test::largest_distance(
          accumulate(mine, *hybrid.model,
                     [&](test::Batch b) { return test::for_hybrid(hybrid, b); }),
          accumulate(theirs, *single,
                     [&](const test::Batch& b) { return b.on(test::reference(0)); })),
      1e-12);
}

// Running statistics of all replicas are those of replica 0 when they are used.
TEST(Hybrid, EvaluatesWithTheStatisticsOfReplicaZero) {
  const Problem problem = small_vgg(true, 0, {9});
  const Hybrid hybrid(problem);
  train::TrainStep step(hybrid.model, hybrid.model, problem.optimizer,
                        {.accuracy = false, .hybrid = hybrid.update.get()});
  const test::Batch batch = test::for_hybrid(hybrid, problem.batch(0));
  step.run(batch.images, batch.labels);
  hybrid.model->eval();
  const autograd::NoGrad no_grad;
  const Tensor together = (*hybrid.model)(batch.images);
  std::vector<uint64_t> bits;
  for (const nn::ModulePtr& replica : hybrid.features->replicas()) {
    bits.push_back(test::bits_of(replica->buffers()));
  }
  test::expect_all_equal(bits);
  const Tensor first_alone = (*hybrid.model)(batch.images.narrowed(0, 1));
  EXPECT_LT(test::distance(together.narrowed(0, 1), first_alone), 1e-12);
  const Tensor last_alone = (*hybrid.model)(batch.images.narrowed(8, 1));
  EXPECT_LT(test::distance(together.narrowed(8, 1), last_alone), 1e-12);
}

// Without the abort, the others wait for a minute and blame the time-out.
TEST(Hybrid, AFailedDeviceStopsTheOthersAndIsNamed) {
  Problem problem = small_vgg(false, 0, {9});
  problem.devices = 4;
  for (const int failing : {0, 1, 2}) {
    const Hybrid hybrid(problem);
    train::TrainStep step(hybrid.model, hybrid.model, problem.optimizer,
                          {.accuracy = false, .hybrid = hybrid.update.get()});
    const test::Batch batch = test::for_hybrid(hybrid, problem.batch(0));
    step.run(batch.images, batch.labels);
    for (int d = 0; d < 4; ++d) runtime::context(test::reference(d)).synchronize();
    runtime::Task fails;
    fails.record.name = "aten::mm";
    fails.run = [] { throw std::runtime_error("of itself"); };
    runtime::context(test::reference(failing)).compute().enqueue(std::move(fails));
    hybrid.features->sum_gradients();
    for (int d = 0; d < 3; ++d) {
      const std::string said =
          test::message_of([&] { runtime::context(test::reference(d)).synchronize(); });
      EXPECT_NE(said.find("reference:" + std::to_string(failing) +
                          ": aten::mm failed: of itself"),
                std::string::npos)
          << "device " << d << ": " << said;
    }
  }
}

TEST(Hybrid, RequiresFeatures) {
  const nn::ModulePtr model = test::in_double(test::make_toy);
  EXPECT_THROW(train::make_hybrid(*model, test::devices(3)), std::runtime_error);
}

// --- checkpoints: one copy of the features, which any mode can resume

constexpr int64_t kPictures = 10, kRows = 6;  ///< two batches per epoch: 6 and 4

/// Ten pictures of noise for a small VGG.
class Noise : public data::Dataset {
 public:
  int64_t size() const override { return kPictures; }
  std::vector<int64_t> sample_shape() const override { return {2, 8, 8}; }
  int64_t classes() const override { return 3; }
  int64_t get(int64_t index, data::Draws&, std::span<float> image) const override {
    data::Draws noise(7, 0, index);
    for (float& value : image) value = static_cast<float>(2 * noise.uniform() - 1);
    return index % 3;
  }
};

/// A small VGG with batch norm and dropout, whose runs end in a file.
class HybridResumes : public testing::Test {
 protected:
  HybridResumes() { ops::manual_seed(1); }
  ~HybridResumes() override { std::filesystem::remove(file_); }

  static Trainer trainer(Mode mode, int devices) {
    const test::Problem small{
        [] { return test::make_small_vgg(true, 0.5); }, {2, 8, 8}, 3, {}};
    train::TrainerOptions options;
    options.mode = mode;
    options.devices = test::devices(devices);
    options.dtype = DType::f64;
    options.quiet = true;
    options.optimizer = optim::SgdOptions{0.05, 0.9, 1e-2};
    return Trainer(small.model(test::reference(0)), options);
  }

  static void run_epoch(Trainer& trainer, int epoch) {
    data::DataLoader loader(std::make_shared<Noise>(),
                            {.batch_size = kRows, .shuffle = true});
    trainer.train_epoch(loader, epoch);
    trainer.validate(loader);
  }

  void save(Trainer& trainer) const {
    train::save_checkpoint(file_, train::take_snapshot({"small", 1}, trainer));
  }
  void resume(Trainer& trainer) const { train::load_checkpoint(file_, trainer); }

  /// Returns a hash of the weights, the running statistics and the momentum.
  static std::vector<uint64_t> bits(Trainer& trainer) {
    Tensors state;
    for (const auto& [name, tensor] : trainer.optimizer_state()) {
      state.push_back(tensor);
    }
    return {test::bits_of(trainer.model()->parameters()),
            test::bits_of(trainer.model()->buffers()), test::bits_of(state)};
  }

 private:
  const std::string file_ = std::filesystem::temp_directory_path() /
                            ("hybrid-" + std::to_string(::getpid()) + ".safetensors");
};

TEST_F(HybridResumes, Bitwise) {
  Trainer whole = trainer(Mode::hybrid, 4);
  run_epoch(whole, 0);
  save(whole);
  const auto halfway = bits(whole);
  run_epoch(whole, 1);
  ops::manual_seed(1);
  Trainer second = trainer(Mode::hybrid, 4);
  resume(second);
  EXPECT_EQ(bits(second), halfway);
  run_epoch(second, 1);
  EXPECT_EQ(bits(second), bits(whole));
  EXPECT_NE(bits(second), halfway) << "it trained";
}

TEST_F(HybridResumes, OnOneDeviceAndBack) {
  Trainer hybrid = trainer(Mode::hybrid, 3);
  run_epoch(hybrid, 0);
  save(hybrid);
  Trainer single = trainer(Mode::single, 1);
  resume(single);
  EXPECT_EQ(bits(single), bits(hybrid)) << "one copy of the features";
  run_epoch(single, 1);
  save(single);
  Trainer back = trainer(Mode::hybrid, 4);
  resume(back);
  EXPECT_EQ(bits(back), bits(single));
  run_epoch(back, 2);
}

}  // namespace
}  // namespace lockstep

// Workers that train one model: with one worker, or with the lock for the whole step,
// every bit is that of training on one device.
// sanitize: thread
#include "engine/sharing/shared_worker.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "engine/models/resnet.h"
#include "engine/train/train_step.h"
#include "tests/engine/distributed/nets.h"

namespace lockstep::sharing {
namespace {

using Make = std::function<nn::ModulePtr()>;

nn::ModulePtr make_shared_resnet() {
  const nn::Conv2dSettings stem{.in = 2, .out = 4, .kernel = 3, .padding = 1};
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Conv2d>(stem), std::make_shared<nn::BatchNorm2d>(4),
      std::make_shared<nn::ReLU>(), std::make_shared<models::BasicBlock>(4, 6, 2),
      std::make_shared<test::Flatten>(), std::make_shared<nn::Linear>(6 * 16, 3)});
}

struct Net {
  const char* name;
  Make make;
  std::vector<int64_t> image;
  int64_t classes;
};

const Net kToy{"toy", test::make_toy, {5}, 2};
const Net kResNet{"resnet", make_shared_resnet, {2, 8, 8}, 3};

/// A model on a device, and its training.
struct Learner {
  Learner(const Net& net, Device device, DType type, const optim::AnyOptions& options)
      : net(net), device(device), type(type) {
    nn::Construction construction;
    construction.dtype = type;
    construction.seed = 7;
    nn::ConstructionScope scope(construction);
    model = net.make();
    model->assign_paths("");
    model->to(device);
    this->options = options;
  }
  void share(const std::shared_ptr<SharedModel>& shared, int worker, LockFor lock) {
    sharing = std::make_unique<SharedWorker>(*model, shared, worker, lock);
  }
  void begin() {
    step = std::make_unique<train::TrainStep>(
        model, model, options, train::TrainStepOptions{.sharing = sharing.get()});
  }
  /// Batch `i` has rows of its own.
  void train(int i) {
    std::vector<int64_t> sizes{4};
    sizes.insert(sizes.end(), net.image.begin(), net.image.end());
    const Tensor images =
        test::signed_tensor("batch " + std::to_string(i), Shape(sizes), 1.7, type);
    step->run(test::on(device, images),
              test::on(device, test::golden_labels(4, net.classes)));
    runtime::context(device).synchronize();
  }
  uint64_t bits() const {
    Tensors all = model->parameters();
    for (const Tensor& buffer : model->buffers()) all.push_back(buffer);
    Tensors even;  // bits_of reads words of 4 B
    for (const Tensor& tensor : all) even.push_back(tensor);
    return test::bits_of(even);
  }

  const Net& net;
  const Device device;
  const DType type;
  nn::ModulePtr model;
  optim::AnyOptions options;
  std::unique_ptr<SharedWorker> sharing;
  std::unique_ptr<train::TrainStep> step;
};

constexpr int kSteps = 3;
const optim::AnyOptions kMomentum =
    optim::SgdOptions{.lr = 0.05, .momentum = 0.9, .weight_decay = 1e-2};

TEST(SharedWorkers, OneWorkerTrainsBitByBitAsOneDevice) {
  const std::pair<Device, DType> places[] = {{test::kReference, DType::f64},
                                             {test::kCpu, DType::f32}};
  const std::pair<UpdateBy, LockFor> ways[] = {{UpdateBy::store, LockFor::nothing},
                                               {UpdateBy::fetch_add, LockFor::nothing},
                                               {UpdateBy::store, LockFor::update},
                                               {UpdateBy::store, LockFor::step}};
  for (const Net* net : {&kToy, &kResNet}) {
    for (const auto& [device, type] : places) {
      if (!has_backend(device.type)) continue;
      Learner alone(*net, device, type, kMomentum);
      alone.begin();
      std::vector<uint64_t> bits;
      for (int i = 0; i < kSteps; ++i) {
        alone.train(i);
        bits.push_back(alone.bits());
      }
      for (const auto& [rule, lock] : ways) {
        SCOPED_TRACE(net->name);
        Learner worker(*net, device, type, kMomentum);
        const auto shared = std::make_shared<SharedModel>(rule, 1);
        worker.share(shared, 0, lock);
        worker.begin();
        for (int i = 0; i < kSteps; ++i) {
          worker.train(i);
          ASSERT_EQ(worker.bits(), bits[i]) << "after step " << i;
        }
        worker.sharing->settle();
        EXPECT_EQ(worker.bits(), bits.back()) << "the shared weights";
        EXPECT_EQ(shared->version(), kSteps);
        EXPECT_EQ(worker.sharing->last_update().staleness(), 0);
      }
    }
  }
}

TEST(SharedWorkers, OneWorkerMayHaveAnyOptimizer) {
  const optim::AnyOptions all[] = {optim::AdamOptions{.lr = 0.1, .amsgrad = true},
                                   optim::RmspropOptions{.lr = 0.1, .momentum = 0.9}};
  for (const optim::AnyOptions& options : all) {
    Learner alone(kToy, test::kReference, DType::f32, options);
    Learner worker(kToy, test::kReference, DType::f32, options);
    worker.share(std::make_shared<SharedModel>(UpdateBy::store, 1), 0,
                 LockFor::nothing);
    alone.begin();
    worker.begin();
    for (int i = 0; i < 4; ++i) {
      alone.train(i);
      worker.train(i);
    }
    EXPECT_EQ(worker.bits(), alone.bits());
  }
}

/// Trains with threads as workers. Returns the bits of the shared weights, and which
/// worker made each version from which of the batches.
struct Together {
  Together(const Net& net, int workers, UpdateBy rule, LockFor lock,
           const optim::AnyOptions& options, int steps)
      : shared(std::make_shared<SharedModel>(rule, workers)), bits(workers) {
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; ++w) {
      threads.emplace_back([&, w] {
        Learner learner(net, test::reference(w), DType::f64, options);
        learner.share(shared, w, lock);
        learner.begin();
        for (int i = 0; i < steps; ++i) {
          learner.train(w * steps + i);
          const std::lock_guard guard(mutex);
          updates[learner.sharing->last_update().version] = {w, w * steps + i};
          stale += learner.sharing->last_update().staleness();
        }
        learner.sharing->settle();
        bits[w] = learner.bits();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::shared_ptr<SharedModel> shared;
  std::vector<uint64_t> bits;
  std::mutex mutex;
  std::map<int64_t, std::pair<int, int>> updates;  ///< version → worker, batch
  int64_t stale = 0;
};

TEST(SharedWorkers, UnderTheLockTheyTrainAsOneDeviceWithTheBatchesInTheirOrder) {
  const optim::AnyOptions plain =
      optim::SgdOptions{.lr = 0.05, .momentum = 0, .weight_decay = 1e-2};
  for (const Net* net : {&kToy, &kResNet}) {
    Together together(*net, 3, UpdateBy::store, LockFor::step, plain, 2);
    test::expect_all_equal(together.bits);
    EXPECT_EQ(together.updates.size(), 6u);
    EXPECT_EQ(together.stale, 0);
    Learner alone(*net, test::kReference, DType::f64, plain);
    alone.begin();
    for (const auto& [version, made] : together.updates) alone.train(made.second);
    EXPECT_EQ(together.bits[0], alone.bits()) << net->name;
  }
}

TEST(SharedWorkers, CallTheFunctionsInTheirSlots) {
  std::vector<int64_t> versions;
  shared_begin().plug([&](SharedAccess& model, LockFor lock) {
    versions.push_back(begin_step(model, lock));
    return versions.back();
  });
  shared_end().plug([&](SharedAccess& model, LockFor lock, int64_t read_version) {
    const Update update = end_step(model, lock, read_version);
    versions.push_back(update.version);
    return update;
  });
  Learner worker(kToy, test::kReference, DType::f64, kMomentum);
  worker.share(std::make_shared<SharedModel>(UpdateBy::store, 1), 0, LockFor::update);
  worker.begin();
  for (int i = 0; i < 2; ++i) worker.train(i);
  shared_begin().unplug();
  shared_end().unplug();
  EXPECT_EQ(versions, (std::vector<int64_t>{0, 1, 1, 2}));
}

TEST(SharedWorkers, EvaluateTheSameWeightsAndStatistics) {
  for (const LockFor lock : {LockFor::nothing, LockFor::update}) {
    Together together(kResNet, 3, UpdateBy::fetch_add, lock, kMomentum, 3);
    test::expect_all_equal(together.bits);
    EXPECT_EQ(together.shared->version(), 9);
    double batches = 0;  // of num_batches_tracked, which is shared like a weight
    for (const Tensor& tensor : together.shared->tensors()) {
      if (tensor.dtype() == DType::i64) batches = test::values_of(tensor)[0];
    }
    EXPECT_EQ(batches, 9) << "fetch-add loses none";
  }
}

}  // namespace
}  // namespace lockstep::sharing

// Nets on CUDA devices, simulated and real. Training on one device, DataParallel, DDP
// and SyncBatchNorm give the results of the reference loops in double; `--amp` gives
// approximately the same. The trace is ordered although hardware runs asynchronously.
// sanitize: thread
#include <map>
#include <set>

#include "engine/distributed/ddp/distributed_data_parallel.h"
#include "engine/optim/sgd.h"
#include "engine/parallel/data_parallel.h"
#include "engine/parallel/device_group.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/distributed/ddp/sync_batch_norm.h"
#include "tracer/format/args.h"
#include "tracer/record/collect.h"

namespace lockstep {
namespace {

using test::kReference;

class CudaNets : public test::OnCuda {};

/// Convolutions with batch norm and fused ReLUs, all three poolings and a linear layer,
/// for N×3×8×8 images.
nn::ModulePtr make_net() {
  const auto conv = [](int64_t in, int64_t out, int64_t stride) {
    return std::make_shared<nn::Conv2d>(nn::Conv2dSettings{
        .in = in, .out = out, .kernel = 3, .stride = stride, .padding = 1});
  };
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      conv(3, 8, 1), std::make_shared<nn::BatchNorm2d>(8), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::MaxPool2d>(ops::Pool2dOptions{2, 2, 0}), conv(8, 12, 2),
      std::make_shared<nn::ReLU>(), std::make_shared<test::Flatten>(),
      std::make_shared<nn::Linear>(48, 5)});
}

nn::ModulePtr golden_net(DType dtype) {
  nn::Construction construction;
  construction.dtype = dtype;
  nn::ConstructionScope scope(construction);
  nn::ModulePtr net = make_net();
  net->assign_paths("");
  test::fill_golden(*net, dtype);
  return net;
}

/// The result of training: the losses, then all parameters and buffers.
struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<double>> tensors;
};

constexpr int kSteps = 4;
constexpr int64_t kImages = 6, kClasses = 5;

/// `devices` is the number of devices; 0 means one device without DataParallel.
Trained train(DeviceType type, int devices, DType dtype) {
  const nn::ModulePtr model = golden_net(dtype);
  const Device first{type, 0};
  model->to(first);
  nn::ModulePtr net = model;
  parallel::Devices all;
  for (int i = 0; i < devices; ++i) all.push_back({type, i});
  if (devices > 0) net = std::make_shared<parallel::DataParallel>(model, all);
  const Tensor images = test::signed_tensor("images", {kImages, 3, 8, 8}, 1.7, dtype);
  const Tensor labels = test::on(first, test::golden_labels(kImages, kClasses));
  optim::Sgd sgd(model->named_parameters(), {0.05, 0.9, 1e-4});
  Trained trained;
  for (int step = 0; step < kSteps; ++step) {
    tracer::set_step(step);
    const Tensor input = devices > 0 ? images : test::on(first, images);
    const Tensor loss = ops::cross_entropy((*net)(input), labels);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
    trained.losses.push_back(ops::item(loss));
  }
  for (auto& [name, tensor] : model->named_parameters()) {
    trained.tensors.push_back(test::values_of(tensor));
  }
  for (auto& [name, tensor] : model->named_buffers()) {
    trained.tensors.push_back(test::values_of(tensor));
  }
  for (const Device device : all) runtime::context(device).synchronize();
  return trained;
}

void expect_near(const Trained& mine, const Trained& truth, double tolerance) {
  ASSERT_EQ(mine.tensors.size(), truth.tensors.size());
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_NEAR(mine.losses[i], truth.losses[i], tolerance * truth.losses[i]) << i;
  }
  for (size_t i = 0; i < mine.tensors.size(); ++i) {
    EXPECT_LE(test::relative_l2(test::vector(mine.tensors[i]),
                                test::vector(truth.tensors[i])),
              tolerance)
        << "tensor " << i;
  }
}

TEST_P(CudaNets, TrainsAsTheReference) {
  expect_near(train(DeviceType::cuda, 0, DType::f32),
              train(DeviceType::reference, 0, DType::f64), 1e-4);
}

TEST_P(CudaNets, DataParallelOnDevicesThatShareAGpu) {
  for (const int devices : {2, 4}) {
    expect_near(train(DeviceType::cuda, devices, DType::f32),
                train(DeviceType::reference, devices, DType::f64), 1e-4);
  }
}

parallel::Devices gpus() {
  parallel::Devices all;
  for (int i = 0; i < static_cast<int>(test::kGpus); ++i) {
    all.push_back({DeviceType::cuda, i});
  }
  return all;
}

TEST_P(CudaNets, DataParallelByALibrary) {
  tracer::start_recording();
  const Trained mine = train(DeviceType::cuda, test::kGpus, DType::f32);
  tracer::stop_recording();
  expect_near(mine, train(DeviceType::reference, test::kGpus, DType::f64), 1e-4);
  const auto events = tracer::collect();
  if (parallel::device_group(gpus()) == nullptr) GTEST_SKIP() << "devices share a GPU";
  std::map<std::string, std::set<std::pair<int, int>>> routes;
  for (const auto& event : events) {
    if (!event.is("copy") || !event.args.contains("modelled")) continue;
    routes[event.name].emplace(int(event.args["src"]), int(event.args["dst"]));
  }
  using Routes = std::set<std::pair<int, int>>;
  EXPECT_EQ(routes.size(), 2u);
  EXPECT_EQ(routes["replicate"], (Routes{{0, 1}, {1, 2}}));
  EXPECT_EQ(routes["reduce"], (Routes{{2, 1}, {1, 0}}));
}

/// A failed device still completes the work that others wait for, and then reports its
/// error.
TEST_P(CudaNets, ADeviceThatFailsHoldsUpNobody) {
  const nn::ModulePtr model = golden_net(DType::f32);
  model->to(gpus()[0]);
  parallel::DataParallel net(model, gpus());
  runtime::context(gpus()[1]).poison("test", "this device is broken");
  net(test::signed_tensor("images", {kImages, 3, 8, 8}, 1.7, DType::f32));
  for (const Device device : gpus()) {
    try {
      runtime::context(device).synchronize();
      EXPECT_NE(device, gpus()[1]);
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find("broken"), std::string::npos);
    }
  }
}

TEST_P(CudaNets, AmpTrainsNearlyAsTheReference) {
  backend_options().amp = true;
  forget_plans();
  const Trained mine = train(DeviceType::cuda, 2, DType::f32);
  const Trained truth = train(DeviceType::reference, 2, DType::f64);
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_NEAR(mine.losses[i], truth.losses[i], 0.03 * truth.losses[i]) << i;
  }
  // Checks that bfloat16 is used: in float32, the first loss would agree to seven
  // digits.
  EXPECT_GT(std::abs(mine.losses[0] - truth.losses[0]), 1e-6 * truth.losses[0]);
  const Device device{DeviceType::cuda, 0};
  const Tensor image =
      test::on(device, test::signed_tensor("x", {2, 3, 8, 8}, 1, DType::f32));
  const Tensor w =
      test::on(device, test::signed_tensor("w", {4, 3, 3, 3}, 1, DType::f32));
  const Tensor y = ops::conv2d(image, w, {}, {1, 1});
  EXPECT_EQ(y.spec().layout->str(), "NHWC:bfloat16");
  EXPECT_EQ(y.storage()->bytes(), size_t(2 * 4 * 8 * 8 * 2));
  EXPECT_EQ(ops::max_pool2d(y, {2, 2, 0}).spec().layout->str(), "NHWC:bfloat16");
}

TEST_P(CudaNets, SyncBatchNormIsAsOneDevice) {
  for (const bool relu : {false, true}) {
    test::NormCase layer = test::NormCase::random({6, 5, 3, 4}, DType::f32);
    layer.in_blocks = layer.relu = relu;
    const auto ranks = test::normalized_by_ranks(layer, {3, 1, 2}, DeviceType::cuda);
    layer.dtype = DType::f64;
    test::expect_as_one(ranks, layer.run(kReference, 0, 6), 2e-5);
  }
}

/// Rank 0's gradients from DDP on `size` ranks.
std::vector<std::vector<double>> ddp_gradients(DeviceType type, DType dtype,
                                               test::Wire wire = test::Wire::local) {
  std::vector<std::vector<double>> gradients;
  test::World world{3, wire, type};
  test::on_ranks(world, [&](test::Rank& rank) {
    const nn::ModulePtr model = golden_net(dtype);
    model->to(rank.device);
    distributed::DistributedDataParallel ddp(model, rank.group, {});
    const test::Batch mine = test::Batch::golden(kImages, {3, 8, 8}, kClasses, dtype)
                                 .share(rank)
                                 .on(rank.device);
    for (int step = 0; step < 2; ++step) {  // the second step uses rebuilt buckets
      for (const Tensor& parameter : model->parameters()) parameter.set_grad({});
      ops::cross_entropy(ddp(mine.images), mine.labels).backward();
    }
    if (rank.rank != 0) return;
    for (const Tensor& parameter : model->parameters()) {
      gradients.push_back(test::values_of(parameter.grad()));
    }
  });
  return gradients;
}

void expect_ddp_as_reference(test::Wire wire) {
  const auto mine = ddp_gradients(DeviceType::cuda, DType::f32, wire);
  const auto truth = ddp_gradients(DeviceType::reference, DType::f64);
  ASSERT_EQ(mine.size(), truth.size());
  for (size_t i = 0; i < mine.size(); ++i) {
    EXPECT_LE(test::distance(test::vector(mine[i]), test::vector(truth[i])), 1e-5)
        << "parameter " << i;
  }
}

TEST_P(CudaNets, DdpInTheGpusMemory) { expect_ddp_as_reference(test::Wire::local); }

TEST_P(CudaNets, DdpThroughMainMemory) { expect_ddp_as_reference(test::Wire::tcp); }

/// No task begins before it is enqueued, before the previous task on its stream ends,
/// or before its dependencies end. Returns the number of kernels and the number of
/// dependencies.
std::pair<size_t, size_t> expect_in_order(const std::vector<tracer::Event>& events) {
  std::map<int64_t, const tracer::Event*> by_id;
  std::map<std::pair<int64_t, int64_t>, int64_t> last_end;
  for (const auto& event : events) {
    if (event.id != tracer::kNone) by_id[event.id] = &event;
  }
  std::vector<const tracer::Event*> work;
  for (const auto& event : events) {
    if (event.is("kernel") || event.is("copy")) work.push_back(&event);
  }
  std::stable_sort(work.begin(), work.end(),
                   [](auto* a, auto* b) { return a->ts < b->ts; });
  size_t kernels = 0, waits = 0;
  for (const tracer::Event* event : work) {
    kernels += event->is("kernel");
    if (event->pid % 100 > 0) {  // lanes of devices
      int64_t& end = last_end[{event->pid, event->tid}];
      EXPECT_LE(end, event->ts) << event->name;
      end = event->end();
    }
    EXPECT_TRUE(by_id.contains(event->op)) << event->name;
    if (!by_id.contains(event->op)) continue;
    EXPECT_GE(event->ts, by_id[event->op]->ts) << event->name;
    EXPECT_GE(double(event->args["queued_us"]), 0) << event->name;
    for (const int64_t id : event->deps) {
      // The last task of a stream may belong to the trace of an earlier test.
      if (id < by_id.begin()->first) continue;
      ++waits;
      EXPECT_TRUE(by_id.contains(id)) << event->name;
      if (!by_id.contains(id)) continue;
      EXPECT_LE(by_id[id]->end(), event->ts) << event->name;
    }
  }
  return {kernels, waits};
}

TEST_P(CudaNets, TheTraceIsInOrder) {
  train(DeviceType::cuda, 2, DType::f32);  // finishes all earlier work
  tracer::start_recording();
  train(DeviceType::cuda, 2, DType::f32);
  tracer::stop_recording();
  const auto [kernels, waits] = expect_in_order(tracer::collect());
  EXPECT_GT(kernels, size_t(kSteps * 2 * 10));
  EXPECT_GT(waits, size_t(kSteps * 4));
}

/// The ring's messages are measured, not modelled. Each runs within its collective and
/// begins after the messages that its sender depends on.
TEST_P(CudaNets, TheTraceOfARingInTheGpusMemoryIsInOrder) {
  ddp_gradients(DeviceType::cuda, DType::f32);  // finishes all earlier work
  tracer::start_recording();
  ddp_gradients(DeviceType::cuda, DType::f32);
  tracer::stop_recording();
  const auto events = tracer::collect();
  expect_in_order(events);
  std::map<std::pair<int64_t, int64_t>, const tracer::Event*> collectives;  // pid, seq
  for (const auto& event : events) {
    if (event.is("collective")) {
      collectives[{event.pid, tracer::int_arg(event.args, "seq", -1)}] = &event;
    }
  }
  size_t messages = 0, after_others = 0;
  for (const auto& event : events) {
    if (!event.is("copy") || !event.args.contains("ring_step")) continue;
    EXPECT_FALSE(event.args.contains("modelled"));
    const auto around =
        collectives.find({event.pid, tracer::int_arg(event.args, "seq", -1)});
    ASSERT_NE(around, collectives.end());
    EXPECT_GE(event.ts, around->second->ts);
    EXPECT_LE(event.end(), around->second->end());
    after_others += !event.deps.empty();
    ++messages;
  }
  EXPECT_GE(messages, size_t{2 * 3 * 2 * 2});  // 2 steps, 3 ranks, 2(N - 1) messages
  EXPECT_EQ(after_others, messages);
}

INSTANTIATE_TEST_SUITE_P(Gpu, CudaNets, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep

// The training script of three ranks, with eight faults that can be switched on.
#include <barrier>
#include <optional>

#include "engine/autograd/engine.h"
#include "engine/distributed/collectives/local_transport.h"
#include "engine/distributed/collectives/ring.h"
#include "engine/distributed/ddp/distributed_data_parallel.h"
#include "engine/optim/sgd.h"
#include "lessons/16-detective/script.h"

namespace lockstep::lessons::detective {
namespace {

constexpr int64_t kCap = 1 << 20;  ///< of a bucket, bytes

class Script {
 public:
  Script(int rank, Fault fault, std::shared_ptr<distributed::ProcessGroup> group)
      : rank_(rank), fault_(fault), device_(device(rank)), group_(std::move(group)) {
    nn::Construction construction;
    construction.seed = 1;
    const nn::ConstructionScope scope(construction);
    net_ = make_net();
    net_->to(device_);
    distributed::DdpOptions options;
    options.reducer.bucket_cap = kCap;
    ddp_ =
        std::make_shared<distributed::DistributedDataParallel>(net_, group_, options);
    ddp_->assign_paths("");
    sgd_.emplace(net_->named_parameters(), optim::SgdOptions{.lr = 0.01});
    if (fault_ == Suspicion::bucket) {
      std::vector<size_t> forward(net_->parameters().size());
      for (size_t i = 0; i < forward.size(); ++i) forward[i] = i;
      ddp_->gradient_sync().set_ready_order(forward);
    }
    if (fault_ == Suspicion::hook) log_a_gradient();
  }

  /// The first two steps, which are not recorded: afterwards buckets are rebuilt, and
  /// gradients and momentum have their memory.
  void warm_up() {
    data::DataLoader loader(std::make_shared<Pictures>(2 * kBatch, false),
                            {.batch_size = kBatch});
    loader.start_epoch(0);
    train_step(0, loader);
    train_step(1, loader);
  }

  void train() {
    const bool epochs =
        fault_ == Suspicion::set_epoch || fault_ == Suspicion::evaluation;
    const int64_t steps = epochs ? 1 : 2;  // per epoch
    const auto pictures = std::make_shared<Pictures>(kRanks * kBatch * steps,
                                                     fault_ == Suspicion::loader);
    const uint64_t seed = fault_ == Suspicion::seeds ? 7 + rank_ : 7;
    data::DataLoader loader(
        pictures, {.batch_size = kBatch,
                   .workers = 1,
                   .sampler = std::make_shared<data::DistributedSampler>(
                       std::make_shared<data::RandomSampler>(pictures->size(), seed),
                       rank_, kRanks)});
    int64_t step = 0;
    for (int64_t epoch = 0; epoch < (epochs ? 2 : 1); ++epoch) {
      loader.start_epoch(fault_ == Suspicion::set_epoch ? 0 : epoch);
      for (int64_t i = 0; i < steps; ++i) train_step(step++, loader);
      if (fault_ == Suspicion::evaluation && epoch == 0) {
        if (rank_ == 0) evaluate(step);
        ++step;
      }
    }
  }

 private:
  void train_step(int64_t number, data::DataLoader& loader) {
    tracer::set_step(number);
    tracer::step_facts() = {};
    Part step("step");
    step.event.arg({keys::kind, "train"});
    Inputs inputs, on_device;
    {
      const Part part("data");
      inputs = tensors_of(*loader.next());
    }
    {
      const Part part("h2d");
      on_device = to_device(inputs);
    }
    Tensor output, loss;
    {
      const Part part("forward");
      output = (*ddp_)(on_device.images);
    }
    {
      const Part part("loss");
      loss = ops::cross_entropy(output, on_device.labels);
    }
    {
      const Part part("backward");
      sgd_->zero_grad();
      loss.backward();
      if (fault_ == Suspicion::division) {
        for (const Tensor& parameter : net_->parameters()) {
          parameter.set_grad(ops::scale(parameter.grad(), 1.0 / kRanks));
        }
      }
    }
    {
      const Part part("optimizer");
      sgd_->step();
    }
    runtime::context(device_).synchronize();
    describe(step.event, inputs, output.nbytes(), "device0", {inputs.images.size(0)});
    step.event.arg({keys::broadcast_bytes, ddp_->last_broadcast_bytes()});
    step.event.arg({keys::synced, true});
  }

  /// Two batches of test pictures, with the model itself, not with DDP.
  void evaluate(int64_t number) {
    data::DataLoader loader(std::make_shared<Pictures>(4 * kBatch, false),
                            {.batch_size = 4 * kBatch});
    loader.start_epoch(0);
    const autograd::NoGrad no_grad;
    tracer::set_step(number);
    tracer::step_facts() = {};
    Part step("step");
    step.event.arg({keys::kind, "eval"});
    const Inputs inputs = tensors_of(*loader.next());
    Inputs on_device;
    {
      const Part part("h2d");
      on_device = to_device(inputs);
    }
    Tensor output;
    {
      const Part part("forward");
      output = (*net_)(on_device.images);
    }
    {
      const Part part("loss");
      ops::cross_entropy(output, on_device.labels);
      ops::accuracy(output, on_device.labels, 1);
    }
    runtime::context(device_).synchronize();
    describe(step.event, inputs, output.nbytes(), "device0", {inputs.images.size(0)});
    step.event.arg({keys::broadcast_bytes, 0});
    step.event.arg({keys::synced, false});
  }

  Inputs to_device(const Inputs& inputs) {
    const CategoryScope category(MemoryCategory::inputs);
    return {ops::copy_to(inputs.images, device_, {"h2d", "images"}),
            ops::copy_to(inputs.labels, device_, {"h2d", "labels"})};
  }

  /// A hook for a plot of the training: the first element of a gradient.
  void log_a_gradient() {
    const auto parameters = net_->named_parameters();
    for (const auto& [name, parameter] : parameters) {
      if (!name.starts_with("9.")) continue;
      parameter.meta().post_accumulate_hooks.push_back([](const Tensor& grad) {
        const Tensor plain = ops::contiguous(grad.detach());
        ops::item(plain.reshaped({plain.numel()}).narrowed(0, 1));
      });
      return;
    }
  }

  const int rank_;
  const Fault fault_;
  const Device device_;
  std::shared_ptr<distributed::ProcessGroup> group_;
  nn::ModulePtr net_;
  std::shared_ptr<distributed::DistributedDataParallel> ddp_;
  std::optional<optim::Sgd> sgd_;
};

}  // namespace

tracer::Trace record_ranks(Fault fault) {
  const auto hub = std::make_shared<distributed::LocalHub>(kRanks);
  std::barrier ready(kRanks + 1);
  const auto work = [&](int rank) {
    tracer::set_rank(rank);
    tracer::claim_device(rank, rank);
    tracer::name_host_thread("main");
    auto transport =
        std::make_unique<distributed::LocalTransport>(hub, rank, Milliseconds(20'000));
    Script script(
        rank, fault,
        std::make_shared<distributed::ProcessGroup>(std::make_unique<distributed::Ring>(
            std::move(transport), rank, kRanks, "default")));
    script.warm_up();
    ready.arrive_and_wait();  // nobody works: the recorder is switched on
    ready.arrive_and_wait();
    script.train();
    ready.arrive_and_wait();
    ready.arrive_and_wait();  // nobody records: the events are collected
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back(work, rank);
  ready.arrive_and_wait();
  wait_for_devices(kRanks);
  tracer::start_recording();
  ready.arrive_and_wait();
  ready.arrive_and_wait();
  tracer::stop_recording();
  tracer::Trace trace = tracer::finish_trace(
      tracer::collect(), facts_of("ddp", kRanks, *make_net(), kRanks));
  ready.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < kRanks; ++rank) tracer::claim_device(rank, 0);
  return trace;
}

}  // namespace lockstep::lessons::detective

#include "engine/sharing/hybrid_features.h"

#include <numeric>
#include <stdexcept>

#include "engine/autograd/node.h"
#include "engine/distributed/collectives/local_transport.h"
#include "engine/distributed/collectives/ring.h"
#include "engine/ops/copy.h"
#include "engine/runtime/device_context.h"
#include "engine/sharing/hybrid_parts.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"

namespace lockstep::sharing {
namespace reasons = tracer::reasons;

namespace {

constexpr Milliseconds kRingTimeout{60'000};
constexpr const char* kGroup = "features";

/// Returns the parts of one ring between `size` replicas.
std::vector<distributed::ProcessGroup> make_ring(int size) {
  const auto hub = std::make_shared<distributed::LocalHub>(size);
  std::vector<distributed::ProcessGroup> groups;
  for (int rank = 0; rank < size; ++rank) {
    auto transport =
        std::make_unique<distributed::LocalTransport>(hub, rank, kRingTimeout);
    groups.emplace_back(
        std::make_unique<distributed::Ring>(std::move(transport), rank, size, kGroup),
        kGroup);
  }
  return groups;
}

distributed::Bucket bucket_of(const nn::Module& module) {
  const auto parameters = module.named_parameters();
  plan::Bucket all(parameters.size());
  std::iota(all.begin(), all.end(), 0);
  return {0, all, parameters};
}

int64_t bytes_of(const Tensors& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.nbytes();
  return bytes;
}

}  // namespace

HybridFeatures::HybridFeatures(nn::ModulePtr features, parallel::Devices devices,
                               Device classifier)
    : module_(register_module("module", std::move(features))),
      devices_(std::move(devices)),
      classifier_(classifier) {
  if (devices_.empty()) {
    throw std::runtime_error(
        "the features need a device of their own; fix: use at least 2 devices");
  }
  register_forward_hook(parallel::record_output);
}

Tensor HybridFeatures::forward(const Tensor& input) {
  sent_bytes_ = 0;
  if (replicas_.empty()) create_replicas();
  if (!training()) send_statistics();
  for (const nn::ModulePtr& replica : replicas_) replica->train(training());
  const Tensors chunks = parallel::primitives().scatter(input, devices_);
  // A small batch has fewer chunks than there are replicas: the last ones stay idle.
  const std::vector<nn::ModulePtr> used(replicas_.begin(),
                                        replicas_.begin() + chunks.size());
  const Tensors outputs = parallel::primitives().parallel_apply(used, chunks);
  statistics_may_differ_ |= training();
  return gather(outputs);
}

// --- replicas

void HybridFeatures::create_replicas() {
  const autograd::NoGrad no_grad;
  const tracer::Phase phase("replicate");
  for (const Device device : devices_) {
    replicas_.push_back(device == devices_[0] ? module_ : copy_on(device));
    gradients_.push_back(bucket_of(*replicas_.back()));
  }
  let_source_wait();
  groups_ = make_ring(static_cast<int>(devices_.size()));
  sent_bytes_ = bytes_of(parameters()) + bytes_of(buffers());
}

nn::ModulePtr HybridFeatures::copy_on(Device device) const {
  nn::Construction skeleton = nn::construction();
  skeleton.skeleton = true;
  const nn::ConstructionScope scope(skeleton);
  nn::ModulePtr replica = module_->make_like();
  replica->copy_settings(*module_);
  const auto copy = [device](const Tensors& from, const Tensors& to, bool is_leaf,
                             const char* what) {
    for (size_t i = 0; i < from.size(); ++i) {
      Tensor sent = ops::copy_to(from[i].detach(), device, {reasons::replicate, what});
      if (is_leaf) sent.set_requires_grad(true);
      Tensor(to[i]).become(sent);
    }
  };
  {
    const CategoryScope category(MemoryCategory::parameters);
    copy(module_->parameters(), replica->parameters(), true, "parameters");
  }
  const CategoryScope category(MemoryCategory::buffers);
  copy(module_->buffers(), replica->buffers(), false, "buffers");
  return replica;
}

/// Gives all replicas the running statistics of replica 0, if they may differ.
void HybridFeatures::send_statistics() {
  if (!std::exchange(statistics_may_differ_, false)) return;
  const Tensors from = module_->buffers();
  if (from.empty() || replicas_.size() == 1) return;
  const tracer::Phase phase("replicate");
  for (size_t r = 1; r < replicas_.size(); ++r) {
    const Tensors to = replicas_[r]->buffers();
    for (size_t i = 0; i < from.size(); ++i) {
      ops::copy_into(from[i].detach(), to[i].detach(), {reasons::replicate, "buffers"});
    }
  }
  let_source_wait();
  sent_bytes_ += bytes_of(from);
}

/// Batch norm on the first device writes the statistics that the copies read.
void HybridFeatures::let_source_wait() const {
  runtime::Stream& source = runtime::context(devices_[0]).compute();
  for (size_t r = 1; r < devices_.size(); ++r) {
    source.wait(runtime::context(devices_[r]).copy().record_event());
  }
}

// --- activations and gradients

Tensor HybridFeatures::gather(const Tensors& outputs) const {
  const tracer::Phase phase("gather");
  return hybrid_gather()(outputs, classifier_);
}

void HybridFeatures::sum_gradients() {
  if (replicas_.size() < 2) return;
  const autograd::NoGrad no_grad;
  const tracer::Phase phase(tracer::phases::all_reduce);
  std::vector<distributed::Work> sums;
  try {
    enqueue_sums(sums);
  } catch (const std::exception& error) {  // the others would wait for the rest
    groups_[0].communicator().abort(error.what());
    throw;
  }
  for (size_t r = 0; r < replicas_.size(); ++r) {
    sums[r].wait();
    const Tensors parameters = replicas_[r]->parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].set_grad(gradients_[r].view(i));
    }
  }
}

void HybridFeatures::enqueue_sums(std::vector<distributed::Work>& sums) {
  for (size_t r = 0; r < replicas_.size(); ++r) {
    Tensors gradients;
    for (const Tensor& parameter : replicas_[r]->parameters()) {
      gradients.push_back(parameter.grad());
    }
    stop_ring_if_failed(r);
    sums.push_back(hybrid_sum()(gradients, gradients_[r], groups_[r]));
  }
}

/// A failed device skips its part of the ring, for which its neighbors would wait until
/// the time-out. This task runs on it all the same, before that part.
void HybridFeatures::stop_ring_if_failed(size_t replica) {
  runtime::DeviceContext& device = runtime::context(devices_[replica]);
  runtime::Task task;
  task.shared = true;
  task.waits = {device.compute().record_event()};
  task.run = [&device, ring = groups_[replica]] {
    if (device.poisoned()) ring.communicator().abort(device.failure());
  };
  device.comm().enqueue(std::move(task));
}

void HybridFeatures::assign_paths(const std::string& path) {
  Module::assign_paths(path);
  module_->assign_paths(path);
}

}  // namespace lockstep::sharing

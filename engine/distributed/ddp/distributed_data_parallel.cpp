#include "engine/distributed/ddp/distributed_data_parallel.h"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/autograd/engine.h"
#include "engine/distributed/collectives/small_collectives.h"
#include "engine/distributed/ddp/join.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "tracer/record/recorder.h"

namespace lockstep::distributed {

/// The size of the groups in which tensors are broadcast (`broadcast_bucket_size`).
constexpr int64_t kBroadcastGroup = 250 * 1024 * 1024;

struct DistributedDataParallel::Shared {
  DistributedDataParallel* ddp;
};

DistributedDataParallel::DistributedDataParallel(nn::ModulePtr module,
                                                 std::shared_ptr<ProcessGroup> group,
                                                 DdpOptions options)
    : module_(register_module("module", std::move(module))),
      group_(std::move(group)),
      options_(std::move(options)) {
  const auto parameters = module_->named_parameters();
  if (parameters.empty()) {
    throw std::runtime_error(
        "DistributedDataParallel is not needed when a module doesn't have any "
        "parameters that require a gradient.");
  }
  device_ = parameters[0].value.device();
  verify_shapes();
  Tensors state = module_->parameters();
  for (const Tensor& buffer : module_->buffers()) state.push_back(buffer);
  broadcast_from(0, state, "ddp_init");
  sync_ = make_gradient_sync(parameters, *group_, options_.reducer);
  install_hooks();
}

DistributedDataParallel::~DistributedDataParallel() { shared_->ddp = nullptr; }

Tensor DistributedDataParallel::forward(const Tensor& input) {
  const bool synced = autograd::grad_enabled() && sync_gradients_;
  last_broadcast_bytes_ = 0;
  callback_queued_ = false;
  if (join_) join_->before_forward();
  if (autograd::grad_enabled()) sync_->before_forward();
  broadcast_buffers_if_due();
  const Tensor output = (*module_)(input);
  buffers_may_differ_ = synced;
  if (synced) {
    expects_gradients_ = true;
    sync_->before_backward(output);
  }
  return output;
}

// --- backward: hooks on the parameters report that their gradients are ready

void DistributedDataParallel::install_hooks() {
  shared_ = std::make_shared<Shared>(Shared{this});
  const Tensors parameters = module_->parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].meta().post_accumulate_hooks.push_back(
        [shared = shared_, i](const Tensor&) {
          if (shared->ddp) shared->ddp->gradient_ready(i);
        });
  }
}

void DistributedDataParallel::gradient_ready(size_t parameter) {
  if (!expects_gradients_) return;
  if (!callback_queued_) {
    autograd::queue_callback([shared = shared_] {
      if (!shared->ddp) return;
      shared->ddp->callback_queued_ = false;
      shared->ddp->sync_->after_backward();
      shared->ddp->expects_gradients_ = false;
    });
    callback_queued_ = true;
  }
  sync_->gradient_ready(parameter);
}

DistributedDataParallel::NoSync::NoSync(DistributedDataParallel& ddp)
    : ddp_(ddp), outer_(std::exchange(ddp.sync_gradients_, false)) {}
DistributedDataParallel::NoSync::~NoSync() { ddp_.sync_gradients_ = outer_; }

// --- keeping models and buffers identical across ranks

/// Batch norm's running statistics differ between ranks; all ranks receive the root's.
void DistributedDataParallel::broadcast_buffers_if_due() {
  if (!options_.broadcast_buffers || !buffers_may_differ_) return;
  const Tensors buffers = module_->buffers();
  if (buffers.empty()) return;
  tracer::Phase phase("broadcast");
  broadcast_from(join_ ? join_->authority() : 0, buffers, "broadcast");
  for (const Tensor& buffer : buffers) last_broadcast_bytes_ += buffer.nbytes();
}

/// Broadcasts tensors of the same type as flat tensors, in groups of 250 MiB.
void DistributedDataParallel::broadcast_from(int root, const Tensors& tensors,
                                             const char* why) {
  autograd::NoGrad no_grad;
  CategoryScope category(MemoryCategory::buckets);
  for (DType type : {DType::f32, DType::f64, DType::i64}) {
    Tensors members;
    std::vector<plan::BucketItem> sizes;
    for (const Tensor& tensor : tensors) {
      if (tensor.dtype() != type) continue;
      members.push_back(tensor.detach());
      sizes.push_back({tensor.nbytes()});
    }
    if (members.empty()) continue;
    for (const plan::Bucket& together :
         plan::assign_buckets(sizes, {kBroadcastGroup})) {
      Tensors piece;
      int64_t numel = 0;
      for (size_t i : together) {
        piece.push_back(members[i]);
        numel += members[i].numel();
      }
      ops::OpCall op("aten::cat", piece, std::source_location::current());
      const Tensor flat = ops::compute_one(OpCode::flatten_many, piece, {numel});
      const char* what = why == std::string_view("broadcast") ? "buffers" : "model";
      group_->broadcast(flat, root, {why, what}).wait();
      int64_t start = 0;
      for (const Tensor& tensor : piece) {
        const Tensor sent = flat.narrowed(start, tensor.numel());
        if (group_->rank() != root) {
          ops::compute_into(OpCode::copy, {sent.reshaped(tensor.sizes())}, {tensor});
        }
        start += tensor.numel();
      }
    }
  }
}

void DistributedDataParallel::verify_shapes() {
  const auto parameters = module_->named_parameters();
  const auto counts =
      gather_integers(*group_, device_, {int64_t(parameters.size())}, "ddp_init");
  for (int r = 0; r < group_->size(); ++r) {
    if (counts[r][0] == counts[0][0]) continue;
    throw std::runtime_error(fmt::format(
        "DDP expects same model across all ranks, but rank 0 has {} params, while rank "
        "{} has inconsistent {} params",
        counts[0][0], r, counts[r][0]));
  }
  constexpr size_t kDims = 6;  // dimensions per shape, padded with zeros
  std::vector<int64_t> mine;
  for (const auto& [name, tensor] : parameters) {
    std::vector<int64_t> shape(tensor.sizes().begin(), tensor.sizes().end());
    shape.resize(kDims, 0);
    mine.insert(mine.end(), shape.begin(), shape.end());
  }
  const auto all = gather_integers(*group_, device_, mine, "ddp_init");
  for (int r = 1; r < group_->size(); ++r) {
    for (size_t i = 0; i < mine.size(); ++i) {
      if (all[r][i] == all[0][i]) continue;
      const size_t which = i / kDims;
      throw std::runtime_error(fmt::format(
          "DDP expects same model across all ranks: params[{}] ({}) of rank {} appears "
          "not to match sizes of the same param on rank 0",
          which, parameters[which].name, r));
    }
  }
}

nn::ModulePtr DistributedDataParallel::make_like() const {
  throw std::runtime_error("DistributedDataParallel cannot be replicated");
}

void DistributedDataParallel::assign_paths(const std::string& path) {
  Module::assign_paths(path);
  module_->assign_paths(path);
}

}  // namespace lockstep::distributed

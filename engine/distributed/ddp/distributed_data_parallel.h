// DistributedDataParallel: a process (or thread) per device, each with a model of its
// own and its share of the batch. Only gradients travel, while backward is still
// computing.
#pragma once

#include <memory>

#include "engine/distributed/ddp/gradient_sync.h"

namespace lockstep::distributed {

struct DdpOptions {
  bool broadcast_buffers = true;  ///< rank 0's, before each forward pass
  ReducerOptions reducer;
};

/// PyTorch's nn.parallel.DistributedDataParallel, for one rank. The module's parameters
/// and buffers live on this rank's device; the constructor replaces them with rank 0's.
/// After `backward` every rank holds the mean of all ranks' gradients, so identical
/// optimizers keep the models identical.
/// Source: torch/nn/parallel/distributed.py (1.13).
class DistributedDataParallel : public nn::Module {
 public:
  /// Every rank must construct one. Throws std::runtime_error naming the rank and the
  /// parameter if the ranks' models have different shapes.
  DistributedDataParallel(nn::ModulePtr module, std::shared_ptr<ProcessGroup> group,
                          DdpOptions options = {});
  ~DistributedDataParallel() override;

  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "DistributedDataParallel"; }
  nn::ModulePtr make_like() const override;
  /// The wrapped module keeps the wrapper's path: no `module.` in traces.
  void assign_paths(const std::string& path) override;

  const nn::ModulePtr& module() const { return module_; }
  ProcessGroup& group() { return *group_; }
  GradientSync& gradient_sync() { return *sync_; }

  /// While it exists, backward passes of the forward passes made meanwhile add up their
  /// gradients without synchronising them; that of the first forward pass after it
  /// synchronises the sum (gradient accumulation). As in PyTorch, only the place of the
  /// forward pass matters.
  class NoSync {
   public:
    explicit NoSync(DistributedDataParallel& ddp);
    ~NoSync();

   private:
    DistributedDataParallel& ddp_;
    bool outer_;
  };
  NoSync no_sync() { return NoSync(*this); }

  /// Bytes of buffers that the last forward pass broadcast; for the trace.
  int64_t last_broadcast_bytes() const { return last_broadcast_bytes_; }

 private:
  friend class Join;
  struct Shared;

  void verify_shapes();
  void broadcast_from(int root, const Tensors& tensors, const char* why);
  void broadcast_buffers_if_due();
  void install_hooks();
  void gradient_ready(size_t parameter);

  nn::ModulePtr module_;
  std::shared_ptr<ProcessGroup> group_;
  DdpOptions options_;
  Device device_;
  std::unique_ptr<GradientSync> sync_;
  std::shared_ptr<Shared> shared_;  ///< with the hooks, which may outlive this

  bool sync_gradients_ = true;      ///< `require_backward_grad_sync`
  bool buffers_may_differ_ = true;  ///< `require_forward_param_sync`
  bool expects_gradients_ = false;  ///< `expect_autograd_hooks_`: set by the forward
  bool callback_queued_ = false;
  int64_t last_broadcast_bytes_ = 0;
  class Join* join_ = nullptr;
};

}  // namespace lockstep::distributed

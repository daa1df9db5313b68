// DistributedDataParallel: one process (or thread) per device, each with its own copy
// of the model and its share of the batch. Only gradients (while backward is still
// running) and buffers are exchanged.
#pragma once

#include <memory>

#include "engine/distributed/ddp/gradient_sync.h"

namespace lockstep::distributed {

struct DdpOptions {
  bool broadcast_buffers = true;  ///< from rank 0, before each forward pass
  ReducerOptions reducer;
};

/// PyTorch's nn.parallel.DistributedDataParallel, for one rank. The module's parameters
/// and buffers are on this rank's device; the constructor overwrites them with rank
/// 0's. After `backward`, every rank holds the mean of the gradients of all ranks, so
/// identical optimizers keep the models identical.
/// Source: torch/nn/parallel/distributed.py (1.13).
class DistributedDataParallel : public nn::Module {
 public:
  /// Must be called by every rank. Throws std::runtime_error naming the rank and the
  /// parameter if the models of the ranks have different shapes.
  DistributedDataParallel(nn::ModulePtr module, std::shared_ptr<ProcessGroup> group,
                          DdpOptions options = {});
  ~DistributedDataParallel() override;

  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "DistributedDataParallel"; }
  nn::ModulePtr make_like() const override;
  /// Gives the wrapped module the wrapper's path: traces have no `module.` prefix.
  void assign_paths(const std::string& path) override;

  const nn::ModulePtr& module() const { return module_; }
  ProcessGroup& group() { return *group_; }
  GradientSync& gradient_sync() { return *sync_; }

  /// Disables gradient synchronisation for forward passes made during its lifetime:
  /// their backward passes only accumulate gradients. The backward pass of the first
  /// forward pass afterwards synchronises the sum (gradient accumulation). As in
  /// PyTorch, only the forward pass needs to be inside the scope.
  class NoSync {
   public:
    explicit NoSync(DistributedDataParallel& ddp);
    ~NoSync();

   private:
    DistributedDataParallel& ddp_;
    bool outer_;
  };
  NoSync no_sync() { return NoSync(*this); }

  /// Makes the next forward pass broadcast the buffers. Must be called if a step may
  /// change them without a call of `forward`: one that is replayed (step_graph.h).
  void buffers_have_changed() { buffers_may_differ_ = true; }

  /// Returns the bytes of buffers that the last forward pass broadcast; for the trace.
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
  std::shared_ptr<Shared> shared_;  ///< shared with the hooks, which may outlive this

  bool sync_gradients_ = true;      ///< `require_backward_grad_sync`
  bool buffers_may_differ_ = true;  ///< `require_forward_param_sync`
  bool expects_gradients_ = false;  ///< `expect_autograd_hooks_`: set by forward
  bool callback_queued_ = false;
  int64_t last_broadcast_bytes_ = 0;
  class Join* join_ = nullptr;
};

}  // namespace lockstep::distributed

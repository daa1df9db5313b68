// Local SGD: ranks train on their own and average their weights from time to time.
#pragma once

#include "engine/sharing/local_access.h"
#include "engine/sharing/sharing.h"

namespace lockstep::sharing {

/// Averages the parameters after the optimizer's step whenever `step - warmup_steps` is
/// a multiple of `period`, for steps counted from 0: the first average follows the
/// first step after the warm-up. The optimizer's momentum is not averaged, nor are
/// buffers: each rank keeps its own running statistics. Between two averages the ranks
/// have different weights. As in PyTorch, each rank evaluates its own, and rank 0's are
/// saved. Source: torch/distributed/algorithms/model_averaging/averagers.py,
/// `PeriodicModelAverager`.
class LocalSgd : public Sharing, private LocalAccess {
 public:
  LocalSgd(nn::Module& model, std::shared_ptr<distributed::ProcessGroup> group,
           const LocalSgdOptions& options);

  void update(optim::Optimizer& optimizer) override;
  int64_t steps_done() const override { return step_; }
  void set_steps_done(int64_t steps) override { step_ = steps; }
  /// Adds the period, the warm-up and the number of steps made: they determine whether
  /// an average was due.
  void describe(tracer::HostEvent& event) const override;

 private:
  void optimizer_step() override { optimizer_->step(); }
  void average() override;

  const distributed::Parameters parameters_, buffers_;
  const std::shared_ptr<distributed::ProcessGroup> group_;
  const LocalSgdOptions options_;
  distributed::Bucket flat_;               ///< all parameters, one after the other
  optim::Optimizer* optimizer_ = nullptr;  ///< in an update
  int64_t step_ = 0;
};

}  // namespace lockstep::sharing

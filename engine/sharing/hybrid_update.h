// Keeps the replicas of the features equal: each makes the same update.
#pragma once

#include <memory>

#include "engine/optim/adaptive.h"
#include "engine/sharing/hybrid_features.h"

namespace lockstep::sharing {

/// The gradients and the optimizers of the replicas other than the first, which the
/// optimizer of the whole model updates. The replicas begin with equal weights and
/// states and get the same gradients, so their weights stay equal bit by bit, and none
/// are sent.
class HybridUpdate {
 public:
  /// `prefix`: of the wrapper's parameters in the model, such as `features.`; options
  /// may name parameters (optim::WeightDecays).
  HybridUpdate(std::shared_ptr<HybridFeatures> features, std::string prefix,
               const optim::AnyOptions& options);

  void zero_grad();
  void sum_gradients() { features_->sum_gradients(); }
  /// Clips the gradients as optim::clip_grad_norm_ has clipped those of the model,
  /// whose norm was `norm`.
  void clip(double norm, double max_norm);
  /// To be called before each step of `main`, the optimizer of the model. The first
  /// call copies its state: that of a checkpoint, if there is one.
  void step(const optim::Optimizer& main);

 private:
  void create_optimizers(const optim::Optimizer& main);
  /// Returns the parameters of all replicas but the first.
  std::vector<Tensors> others() const;

  const std::shared_ptr<HybridFeatures> features_;
  const std::string prefix_;
  const optim::AnyOptions options_;
  std::vector<std::unique_ptr<optim::Optimizer>> optimizers_;
};

}  // namespace lockstep::sharing

// A running average of a model's weights, which is evaluated and kept beside them.
#pragma once

#include <vector>

#include "engine/nn/module.h"

namespace lockstep::optim {

/// torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn(decay) and
/// use_buffers: after each `every`-th optimizer step, average = decay · average + (1 −
/// decay) · weights; the first average is the weights. Of the buffers, floating-point
/// ones are averaged, and counters are left as they are. Not thread-safe. Source:
/// torch/optim/swa_utils.py.
class WeightAverage {
 public:
  WeightAverage(nn::ModulePtr model, double decay, int64_t every);

  /// To be called after each optimizer step.
  void after_update();
  /// Whether there has been a first average.
  bool exists() const { return !average_.empty(); }

  /// The model has the average instead of its weights, to evaluate or save it, until
  /// this is destroyed. REQUIRES: exists().
  class InModel {
   public:
    explicit InModel(WeightAverage& average) : average_(average) { average_.swap(); }
    ~InModel() { average_.swap(); }
    InModel(const InModel&) = delete;

   private:
    WeightAverage& average_;
  };

  /// Returns what is averaged. The tensors are handles: a change of their data changes
  /// the model.
  std::vector<nn::Named<Tensor>> weights() const;

  static constexpr const char* kSteps = "n_steps";

  /// Returns the average under the names of the model's tensors, and the number of
  /// optimizer steps as kSteps; nothing before the first step.
  std::vector<nn::Named<Tensor>> state() const;
  /// REQUIRES: `state` is what state() of the same model returned, on any device.
  void set_state(const std::vector<nn::Named<Tensor>>& state);

 private:
  void swap();

  const nn::ModulePtr model_;
  const double decay_;
  const int64_t every_;
  int64_t steps_ = 0;
  Tensors average_;  ///< of weights(), in order; empty before the first
};

}  // namespace lockstep::optim

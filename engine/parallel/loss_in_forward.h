// The loss as the last layer of the module that DataParallel wraps.
#pragma once

#include "engine/parallel/model_and_criterion.h"

namespace lockstep::parallel {

/// DataParallel around a module whose `forward` takes images and targets and returns
/// the loss. Each replica computes the mean cross entropy of its own chunk. A scalar
/// cannot be concatenated along dim 0: gather unsqueezes the losses and returns a
/// vector on device 0, whose mean is the loss. So the loss and all gradients are those
/// of DataParallelModel and DataParallelCriterion, with PyTorch's own wrapper.
/// Source: torch/nn/parallel/_functions.py, `Gather`.
class LossInForward : public DataParallelModel {
 public:
  /// `label_smoothing`: see ops::cross_entropy.
  LossInForward(nn::ModulePtr module, Devices device_ids, double label_smoothing = 0);

  /// Returns the losses of the chunks, on device 0: a vector, or a scalar if there is
  /// one chunk. `targets` are on the devices of the chunks (scatter_targets). Throws
  /// std::runtime_error unless there are as many targets as chunks.
  Tensor losses_of(const Tensor& images, const Tensors& targets);
  /// Returns the outputs of the replicas in the last call, each on its device.
  const Tensors& outputs() const { return outputs_; }

  const char* type_name() const override { return "DataParallel"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<LossInForward>(module()->make_like(), device_ids(),
                                           label_smoothing_);
  }

 private:
  std::vector<nn::ModulePtr> prepare(std::vector<nn::ModulePtr> replicas) override;
  Tensor gather(const Tensors& losses) override;

  const double label_smoothing_;
  Tensors targets_, outputs_;
};

/// Returns the mean of the elements of a vector. A scalar is its own mean.
Tensor mean(const Tensor& vector,
            std::source_location site = std::source_location::current());

}  // namespace lockstep::parallel

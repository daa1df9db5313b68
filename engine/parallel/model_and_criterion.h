// DataParallelModel and DataParallelCriterion: DataParallel without the gather.
#pragma once

#include "engine/ops/copy.h"
#include "engine/parallel/data_parallel.h"
#include "engine/runtime/slot.h"

namespace lockstep::parallel {

/// DataParallel that leaves each output on the device of its replica. Nothing is
/// gathered, so device 0 does not hold the outputs of the whole batch. With a single
/// device, `forward` returns the module's output and no list: in Python the caller has
/// to distinguish the two. Source: PyTorch-Encoding, encoding/parallel.py.
class DataParallelModel : public DataParallel {
 public:
  DataParallelModel(nn::ModulePtr module, Devices device_ids);

  /// Calls the wrapper and returns the outputs, one per chunk, each on its device.
  std::vector<Tensor> outputs_of(const Tensor& input);

  const char* type_name() const override { return "DataParallelModel"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<DataParallelModel>(module()->make_like(), device_ids());
  }

 private:
  /// A module returns a single tensor: the first output. Keeps all for `outputs_of`.
  Tensor gather(const Tensors& outputs) override;

  Tensors outputs_;
};

/// The loss of outputs that are on several devices. The targets are scattered, each
/// device computes the mean cross entropy of its chunk in a thread of its own, and
/// `reduce` adds the results; the sum is divided by the number of chunks. So the loss
/// is the mean of the chunks' means: that of DistributedDataParallel, if its ranks have
/// these chunks. It is the mean over the batch, as in DataParallel, only if all chunks
/// have the same size.
class DataParallelCriterion {
 public:
  /// `label_smoothing`: see ops::cross_entropy.
  explicit DataParallelCriterion(double label_smoothing = 0)
      : label_smoothing_(label_smoothing) {}

  /// Returns the loss on the device of outputs[0]. `targets` are on the devices of the
  /// outputs (scatter_targets). A single loss is neither sent nor divided. Throws
  /// std::runtime_error unless there are as many targets as outputs.
  Tensor operator()(const Tensors& outputs, const Tensors& targets) const;

 private:
  double label_smoothing_;
};

/// Splits `targets` like the images (`plan::chunk_sizes`) and copies chunk i to device
/// i. A chunk that is already there is returned as a view.
Tensors scatter_targets(const Tensor& targets, const Devices& devices);

/// Returns the sum of scalars that are on different devices, on the device of the
/// first. Not differentiable.
Tensor reduce_add(const Tensors& scalars, const ops::CopyLabel& label);

/// Like reduce_add, and differentiable: the backward pass broadcasts the gradient.
Tensor reduce(const Tensors& losses);

/// Calls each criterion with the output of its chunk, on the output's device, and
/// returns the mean of their losses on the device of outputs[0].
Tensor mean_of_chunks(const std::vector<nn::ModulePtr>& criteria,
                      const Tensors& outputs);

/// The function that DataParallelCriterion calls, in a slot (runtime/slot.h).
runtime::Slot<decltype(mean_of_chunks)>& chunk_criterion();

}  // namespace lockstep::parallel

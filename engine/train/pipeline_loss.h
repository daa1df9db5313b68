// The loss and the metrics of a batch that passes through a pipeline in micro-batches.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/train/step_graph.h"

namespace lockstep::train {

/// Returns the factor of the mean loss of a micro-batch of `rows` rows, applied once,
/// before its backward pass: the share of the micro-batch in its batch of `batch` rows,
/// divided by the number of `batches` of the optimizer step. So the gradients are those
/// of the mean over all rows, even if the last micro-batch is smaller; PyTorch gives
/// all micro-batches the same weight (pytorch/pytorch#126600). If they are equal, the
/// factor is 1/M, as with `--accumulate M`.
double loss_weight(int64_t rows, int64_t batch, int64_t batches);

/// Computes the loss of each micro-batch on the device of the outputs, and sums up.
class PipelineLoss {
 public:
  struct Options {
    double label_smoothing = 0;
    bool accuracy = true;
    int64_t batches = 1;  ///< of the optimizer step
  };

  /// `labels` of the whole batch are on the device of the outputs.
  PipelineLoss(const Tensor& labels, const Options& options)
      : labels_(labels), options_(options) {}

  /// Returns the scaled loss, where the backward pass begins.
  Tensor operator()(const Tensor& output, int64_t first_row);

  /// Returns the mean loss and the accuracies of the batch, after all micro-batches. No
  /// output: its parts have been freed.
  const StepTensors& sums() const { return sums_; }
  int64_t output_bytes() const { return output_bytes_; }

 private:
  void add(Tensor& sum, const Tensor& value, double weight) const;

  const Tensor labels_;
  const Options options_;
  StepTensors sums_;
  int64_t output_bytes_ = 0;
};

}  // namespace lockstep::train

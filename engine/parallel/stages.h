// Cuts a model into stages: consecutive parts that one device runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/nn/module.h"

namespace lockstep::parallel {

/// Consecutive parts of a model, under their full names (`features.10`).
struct Stage {
  std::vector<nn::Part> parts;

  Tensor forward(Tensor x) const;
  /// Moves the parameters and buffers of all parts.
  void to(Device device) const;
};

/// Returns the parts of `model` (nn::Module::parts). Those that a cut lies inside are
/// replaced by their own parts.
std::vector<nn::Part> parts_of(const nn::Module& model,
                               const std::vector<std::string>& cuts);

/// Returns one stage more than there are cuts. Each cut is the name of the first part
/// of a stage, in the order of the model: `layer2`, `features.10`. Throws
/// std::invalid_argument, with the fix, if there is no such part, the cuts are not in
/// order, or `model` has no parts.
std::vector<Stage> split_into_stages(const nn::Module& model,
                                     const std::vector<std::string>& cuts);

/// Returns what each stage receives for one image of `image_shape` (C,H,W): plain
/// tensors whose first dimension is 1. Runs the stages of a copy of `model` on a device
/// that computes nothing, `unused`. Throws as split_into_stages does.
std::vector<TensorSpec> stage_inputs(const nn::Module& model,
                                     const std::vector<std::string>& cuts,
                                     const std::vector<int64_t>& image_shape,
                                     Device unused);

/// Returns `x` as the input of a stage: without the history of the stage before it. Its
/// gradient goes to `gradient`. It is not a leaf, so that it may be changed in place.
Tensor begin_tape(const Tensor& x, const std::shared_ptr<Tensor>& gradient);

}  // namespace lockstep::parallel

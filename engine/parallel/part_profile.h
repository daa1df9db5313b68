// How long each part of a model takes, for the choice of a pipeline's stages.
#pragma once

#include <string>
#include <vector>

#include "engine/nn/module.h"

namespace lockstep::parallel {

/// A part at which a stage can begin, and what it costs for one micro-batch.
struct PartProfile {
  std::string name;  ///< as in --split: `layer2.1`
  int64_t forward_ns = 0, backward_ns = 0;
  int64_t output_bytes = 0;  ///< what the next part receives
};

/// Runs the forward and backward passes of a copy of `model` on `device`, part by part,
/// and waits for the device after each. The parts are the smallest that a model can be
/// cut into. `images` is a micro-batch on the host. Returns the shortest of
/// `repetitions` times of each pass, after one that is not counted. The loss and the
/// optimizer are left out. The copy is in training mode and has weights of its own;
/// `model`, its gradients and its running statistics stay as they are. Returns nothing
/// if `model` has no parts. REQUIRES: `device` computes and is used by nothing else.
std::vector<PartProfile> profile_parts(const nn::Module& model, Device device,
                                       const Tensor& images, int repetitions);

}  // namespace lockstep::parallel

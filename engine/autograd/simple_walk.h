// The backward pass as one thread would run it: the whole idea without its threads.
#pragma once

#include "engine/autograd/node.h"

namespace lockstep::autograd {

/// Runs every node that `root` leads to, once, after all of its gradients have been
/// added up, on the calling thread. `grad` is the gradient of input `root.input_nr`.
/// Computes the same bits as the engine's walk over device threads (engine.h); can be
/// plugged into `tape_walk` in its place.
void simple_walk(const Edge& root, Tensor grad);

}  // namespace lockstep::autograd

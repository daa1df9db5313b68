// A single-threaded backward pass: the complete algorithm without the threads.
#pragma once

#include "engine/autograd/node.h"

namespace lockstep::autograd {

/// Runs every node reachable from `root` exactly once, on the calling thread, after all
/// of its gradients have been summed. `grad` is the gradient of input `root.input_nr`.
/// Computes bitwise the same results as the engine's multi-threaded walk (engine.h) and
/// can be plugged into `tape_walk` in its place.
void simple_walk(const Edge& root, Tensor grad);

}  // namespace lockstep::autograd

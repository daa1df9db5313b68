// The backward engine: runs the tape in reverse, on several devices at once.
#pragma once

#include <functional>
#include <source_location>
#include <vector>

#include "engine/autograd/node.h"

namespace lockstep::autograd {

/// Computes the gradients of all leaves that `root` depends on, starting with
/// `gradient` (undefined: 1, for a scalar). Each device has an autograd thread of its
/// own, as in PyTorch, so the replicas of a DataParallel model go backward at the same
/// time. Blocks until all nodes have run (their kernels may still be queued). The first
/// exception is rethrown. Source: torch/csrc/autograd/engine.cpp.
void backward(const Tensor& root, const Tensor& gradient = {},
              std::source_location site = std::source_location::current());

/// Inside a backward pass, on an autograd thread: `callback` runs once when all its
/// nodes have run, on the thread that called `backward`. Throws outside of one.
void queue_callback(std::function<void()> callback);

/// The AccumulateGrad nodes' parameters that `root` depends on: whose gradients a
/// backward pass from it would compute.
std::vector<Tensor> reachable_leaves(const Tensor& root);

}  // namespace lockstep::autograd

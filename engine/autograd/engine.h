// The backward engine: runs the tape in reverse, on several devices at once.
#pragma once

#include <source_location>

#include "engine/autograd/node.h"

namespace lockstep::autograd {

/// Computes the gradients of all leaves that `root` depends on, starting with
/// `gradient` (undefined: 1, for a scalar). Each device has an autograd thread of its
/// own, as in PyTorch, so the replicas of a DataParallel model go backward at the same
/// time. Blocks until all nodes have run (their kernels may still be queued). The first
/// exception is rethrown. Source: torch/csrc/autograd/engine.cpp.
void backward(const Tensor& root, const Tensor& gradient = {},
              std::source_location site = std::source_location::current());

}  // namespace lockstep::autograd

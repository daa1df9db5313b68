// The backward engine: runs the tape in reverse, on several devices at once.
#pragma once

#include <functional>
#include <source_location>
#include <vector>

#include "engine/autograd/node.h"
#include "engine/runtime/slot.h"

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

/// Runs one node of the tape on the calling thread, as the engine does: recorded, off
/// the tape. `grads`: one per output of the forward operation, undefined ones for zero;
/// returns one per entry of `next_edges`.
Tensors apply_node(Node& node, Tensors grads);

/// `a + b`, in place where nobody else sees `a`. An undefined one stands for zero.
Tensor accumulate_grad(Tensor a, Tensor b);

/// Walks the tape: runs every node that `root` leads to, once, after all of its
/// gradients have come and been added up. `grad` goes into input `root.input_nr`. A
/// slot (runtime/slot.h); the engine's own walk has a thread for each device.
using TapeWalk = void(const Edge& root, Tensor grad);
runtime::Slot<TapeWalk>& tape_walk();

/// The AccumulateGrad nodes' parameters that `root` depends on: whose gradients a
/// backward pass from it would compute.
std::vector<Tensor> reachable_leaves(const Tensor& root);

}  // namespace lockstep::autograd

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

/// Runs `callback` once, on the thread that called `backward`, when all nodes of the
/// pass have run. Must be called on an autograd thread inside a backward pass; throws
/// std::runtime_error outside of one.
void queue_callback(std::function<void()> callback);

/// Runs one node of the tape on the calling thread and records it. `grads`: one per
/// output of the forward operation, undefined for zero. Returns one per entry of
/// `next_edges`.
Tensors apply_node(Node& node, Tensors grads);

/// Returns a + b, computed in place if no other tensor shares the memory of `a`. An
/// undefined tensor stands for zero.
Tensor accumulate_grad(Tensor a, Tensor b);

/// Walks the tape: runs every node that `root` leads to, once, after all of its
/// gradients have been added up. `grad` is the gradient of input `root.input_nr`. A
/// slot (runtime/slot.h); the engine's walk has a thread for each device.
using TapeWalk = void(const Edge& root, Tensor grad);
runtime::Slot<TapeWalk>& tape_walk();

/// Returns the leaves that `root` depends on: those whose gradients a backward pass
/// from it would compute.
std::vector<Tensor> reachable_leaves(const Tensor& root);

}  // namespace lockstep::autograd

// The backward engine: traverses the tape in reverse, concurrently on several devices.
#pragma once

#include <functional>
#include <source_location>
#include <vector>

#include "engine/autograd/node.h"
#include "engine/runtime/slot.h"

namespace lockstep::autograd {

/// Computes the gradients of all leaves that `root` depends on, starting from
/// `gradient` (if undefined, 1; `root` must then be a scalar). As in PyTorch, each
/// device has its own autograd thread, so replicas of a DataParallel model run backward
/// concurrently. Blocks until all nodes have run (kernels may still be queued).
/// Rethrows the first exception. Source: torch/csrc/autograd/engine.cpp.
void backward(const Tensor& root, const Tensor& gradient = {},
              std::source_location site = std::source_location::current());

/// Runs `callback` once, on the thread that called `backward`, after all nodes of the
/// pass have run. Must be called on an autograd thread during a backward pass; throws
/// std::runtime_error otherwise.
void queue_callback(std::function<void()> callback);

/// Runs one node of the tape on the calling thread and records it. `grads` holds one
/// gradient per output of the forward operation; an undefined one stands for zero.
/// Returns one gradient per entry of `next_edges`.
Tensors apply_node(Node& node, Tensors grads);

/// Returns a + b, computed in place if no other tensor shares the memory of `a`. An
/// undefined tensor stands for zero.
Tensor accumulate_grad(Tensor a, Tensor b);

/// Walks the tape: runs every node reachable from `root` exactly once, after all of its
/// gradients have been summed. `grad` is the gradient of input `root.input_nr`. This is
/// a slot (runtime/slot.h); the default walk uses one thread per device.
using TapeWalk = void(const Edge& root, Tensor grad);
runtime::Slot<TapeWalk>& tape_walk();

/// Returns the leaves that `root` depends on, i.e. those whose gradients a backward
/// pass from `root` would compute.
std::vector<Tensor> reachable_leaves(const Tensor& root);

/// A single-threaded backward pass: the complete algorithm without the threads.
/// Runs every node reachable from `root` exactly once, on the calling thread, after all
/// of its gradients have been summed. `grad` is the gradient of input `root.input_nr`.
/// Computes bitwise the same results as the engine's multi-threaded walk and can be
/// plugged into `tape_walk` in its place.
void simple_walk(const Edge& root, Tensor grad);

/// The same, but the walk does not go beyond `ends`: returns the gradient that arrived
/// at each, undefined where none did (torch.autograd.grad).
Tensors walk_to(const std::vector<Edge>& ends, const Edge& root, Tensor grad);

}  // namespace lockstep::autograd

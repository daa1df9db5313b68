// The parts of a recorded step that DataParallel gives to different threads.
#pragma once

#include <vector>

#include "tracer/emulate/construct/recorded_step.h"

namespace lockstep::tracer {

/// What the thread of the backward pass does for one node: it waits for the node's
/// gradients, runs it, and notes which gradient is ready.
struct BackwardNode {
  std::vector<const Event*> events;  ///< of the host, in order
  const Event* wait = nullptr;       ///< if recorded
  const Event* op = nullptr;
  int64_t before = 0;  ///< the end of the node before it (ns)
};

/// The parts of a step. The step must outlive them.
struct ReplicaStep {
  /// Throws std::runtime_error if the step's network is not called once, or if its
  /// images are not copied to the device.
  explicit ReplicaStep(const RecordedStep& recorded);

  const RecordedStep* step;
  const Event *whole, *images_op, *images, *labels_op, *forward, *join;
  const Event* backward = nullptr;   ///< the call that the backward thread works for
  std::vector<const Event*> main;    ///< of the host, without the parts below
  std::vector<const Event*> model;   ///< the network's forward pass
  std::vector<BackwardNode> thread;  ///< the backward pass, whole and in order
  std::vector<BackwardNode> loss;    ///< of the backward pass: before the network
  std::vector<BackwardNode> nodes;   ///< of the network
  std::vector<BackwardNode> leaves;  ///< its gradients, by parameter
  std::vector<const Event*> grad_ready;  ///< marks, by parameter
  std::vector<int64_t> leaf_made_by;     ///< ops that made a gradient, in order
};

}  // namespace lockstep::tracer

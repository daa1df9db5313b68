// The two transfers of a hybrid's step, as slots: activations to the classifier, and
// the sum of the features' gradients.
#pragma once

#include "engine/distributed/ddp/bucket.h"
#include "engine/runtime/slot.h"

namespace lockstep::sharing {

/// Joins the replicas' outputs along dim 0 on the classifier's device. The backward
/// pass returns to each replica the gradient of its own rows.
Tensor gather_activations(const Tensors& outputs, Device classifier);

/// Begins the sum of one replica's gradients with those of the others, as a single
/// all-reduce in `ring`, and returns at once. Gradient i gets place i of `flat`. An
/// undefined gradient counts as zeros. To be called once for each replica, in any
/// order.
distributed::Work sum_features(const Tensors& gradients, distributed::Bucket& flat,
                               distributed::ProcessGroup& ring);

/// The functions that HybridFeatures calls, in slots (runtime/slot.h).
runtime::Slot<decltype(gather_activations)>& hybrid_gather();
runtime::Slot<decltype(sum_features)>& hybrid_sum();

}  // namespace lockstep::sharing

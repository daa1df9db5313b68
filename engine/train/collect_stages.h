// The weights of a pipeline whose stages are on several ranks, collected on rank 0.
#pragma once

#include "engine/distributed/collectives/process_group.h"
#include "engine/nn/module.h"
#include "engine/optim/optimizer.h"

namespace lockstep::train {

/// Gives rank 0's `model` the parameters and buffers of all stages, and `optimizer` its
/// state for them. Each rank holds those that are on `device`, its own; rank 0 keeps
/// those of the other stages in host memory. Must be called by all ranks.
void collect_stages(distributed::ProcessGroup& group, Device device,
                    const nn::Module& model, optim::Optimizer& optimizer);

}  // namespace lockstep::train

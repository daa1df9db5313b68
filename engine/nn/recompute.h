// Activation checkpointing: memory in exchange for a second forward pass.
#pragma once

#include <source_location>

#include "engine/nn/module.h"

namespace lockstep::nn {

/// torch.utils.checkpoint.checkpoint(module, input): runs `module` without a tape, so
/// that nothing is saved for the backward pass but `input`. The backward pass runs it
/// again, with a tape and with the same dropout masks. Gradients are bitwise those of
/// `(*module)(input)` and arrive in the same order, those of the module's parameters
/// when all of it has run backward. Batch norms update their running statistics in both
/// passes, as PyTorch's do. REQUIRES: no later operation changes the output in place;
/// modules with children have no parameters of their own.
/// Source: torch/utils/checkpoint.py.
Tensor checkpoint(const ModulePtr& module, const Tensor& input,
                  std::source_location site = std::source_location::current());

/// Makes every Sequential in `model` call its residual blocks (Module::is_block)
/// through `checkpoint`. Returns the number of blocks.
int recompute_blocks(Module& model);

/// Calls a child of a Sequential, or a Part: through `checkpoint` if it is recomputed.
inline Tensor call_child(const ModulePtr& child, const Tensor& input,
                         std::source_location site = std::source_location::current()) {
  return child->recomputed() ? checkpoint(child, input, site) : (*child)(input, site);
}

}  // namespace lockstep::nn

// What a model does with its input before its own forward pass. In DataParallel each
// replica does it with its chunk: replicas have the module's hooks.
#pragma once

#include "engine/data/pixels.h"
#include "engine/nn/module.h"

namespace lockstep::train {

/// Makes a module that receives the bytes of images normalise them first.
void normalize_input(nn::Module& module, const data::Normalization& constants,
                     DType dtype);

/// Makes a module reorder its convolutions' weights and its input in one launch before
/// each forward pass (ops::reorder_for_convolutions).
void reorder_at_once(nn::Module& module);

}  // namespace lockstep::train

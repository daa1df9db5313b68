// Weights to and from files, under torchvision's names.
#pragma once

#include <string>

#include "engine/nn/module.h"

namespace lockstep::train {

/// Writes parameters and buffers as safetensors; a wrapper's `module.` is left out of
/// the names. Waits for the devices.
void save_weights(const nn::Module& model, const std::string& path);

/// Reads them into `model`, on whichever device it is. Names may have `module.`; a
/// checkpoint serves, too (checkpoint.h).
/// Throws std::runtime_error naming the tensor that is missing, unexpected or of
/// another shape or type; then the model is unchanged.
void load_weights(nn::Module& model, const std::string& path);

}  // namespace lockstep::train

// Weights in files, under torchvision's names.
#pragma once

#include <string>

#include "engine/nn/module.h"

namespace lockstep::train {

/// Writes parameters and buffers as safetensors; a wrapper's `module.` is left out of
/// the names. Waits for the devices.
void save_weights(const nn::Module& model, const std::string& path);

/// Reads a file into `model`, on any device. Names may have `module.`; the file may be
/// a checkpoint (checkpoint.h). Throws std::runtime_error that names the tensor that is
/// missing, unexpected or of another shape or type, and leaves the model unchanged.
void load_weights(nn::Module& model, const std::string& path);

}  // namespace lockstep::train

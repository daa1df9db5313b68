// Weight files, with torchvision's tensor names.
#pragma once

#include <string>

#include "engine/nn/module.h"

namespace lockstep::train {

/// Writes parameters and buffers as safetensors; omits a wrapper's `module.` from the
/// names. Waits for the devices.
void save_weights(const nn::Module& model, const std::string& path);

/// Reads a file into `model`, on any device. Names may contain `module.`; the file may
/// be a checkpoint (checkpoint.h). Throws std::runtime_error naming the tensor if one
/// is missing, unexpected or of the wrong shape or type; `model` is then unchanged.
void load_weights(nn::Module& model, const std::string& path);

}  // namespace lockstep::train

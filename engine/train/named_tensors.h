// Conversion between tensors on devices and named tensors in files; files of weights,
// with torchvision's tensor names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/data/safetensors.h"
#include "engine/nn/module.h"

namespace lockstep::train {

/// Returns all parameters and buffers, without `module.` in their names.
std::vector<nn::Named<Tensor>> all_tensors(const nn::Module& model);

/// Copies a tensor from its device to the host; blocks until it has been copied.
data::TensorFileEntry to_entry(const std::string& name, const Tensor& tensor);
/// Returns a host tensor with the entry's values. REQUIRES: `require_fitting` passed.
Tensor to_tensor(const data::TensorFileEntry& entry, DType type);

using Entries = std::map<std::string, data::TensorFileEntry>;

/// Throws std::runtime_error naming `path` and the tensor unless `entries` match
/// `tensors` exactly in names, shapes and types.
void require_fitting(const Entries& entries,
                     const std::vector<nn::Named<Tensor>>& tensors,
                     const std::string& path);

/// Sets each tensor, on its device, to the values of the entry with the same name.
void assign(const Entries& entries, const std::vector<nn::Named<Tensor>>& tensors);

/// Writes parameters and buffers as safetensors; omits a wrapper's `module.` from the
/// names. Waits for the devices.
void save_weights(const nn::Module& model, const std::string& path);

/// Whether a file may have a different number of classes.
enum class Classes { same, any };

/// Reads a file (weight_files.h) into `model`, on any device. Names may contain
/// `module.`; the file may be a checkpoint (checkpoint.h). With Classes::any, if the
/// number of outputs of the last layer differs from the file's, the layer is left as it
/// is, and the names of its tensors are returned. Throws std::runtime_error naming the
/// tensor if one is missing, unexpected or of the wrong shape or type; `model` is then
/// unchanged.
std::vector<std::string> load_weights(nn::Module& model, const std::string& path,
                                      Classes classes = Classes::same);

}  // namespace lockstep::train

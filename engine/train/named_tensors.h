// Between tensors on devices and named tensors in files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/data/safetensors.h"
#include "engine/nn/module.h"

namespace lockstep::train {

/// `features.module.0.weight` → `features.0.weight`: names in files know no wrappers.
std::string without_module(std::string name);

/// Parameters and buffers, without `module.` in their names.
std::vector<nn::Named<Tensor>> all_tensors(const nn::Module& model);

/// Copies a tensor from its device; waits for it.
data::TensorFileEntry to_entry(const std::string& name, const Tensor& tensor);
/// A host tensor with the entry's numbers. REQUIRES: `require_fitting` held.
Tensor to_tensor(const data::TensorFileEntry& entry, DType type);

using Entries = std::map<std::string, data::TensorFileEntry>;

/// Throws std::runtime_error, naming `path` and the tensor, unless `entries` are
/// exactly `tensors`: their names, shapes and types.
void require_fitting(const Entries& entries,
                     const std::vector<nn::Named<Tensor>>& tensors,
                     const std::string& path);

/// Gives each tensor the numbers of the entry of its name, on the tensor's device.
void assign(const Entries& entries, const std::vector<nn::Named<Tensor>>& tensors);

}  // namespace lockstep::train

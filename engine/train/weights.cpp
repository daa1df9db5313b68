#include "engine/train/weights.h"

#include <cstring>
#include <map>
#include <stdexcept>

#include "engine/data/safetensors.h"
#include "engine/ops/copy.h"

namespace lockstep::train {
namespace {

const char* file_type(DType type) {
  switch (type) {
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::i64:
      return "I64";
    case DType::u8:
      return "U8";
  }
  return "";
}

/// `features.module.0.weight` → `features.0.weight`
std::string without_module(std::string name) {
  for (size_t at; (at = ("." + name).find(".module.")) != std::string::npos;) {
    name.erase(at, 7);
  }
  return name;
}

std::vector<nn::Named<Tensor>> all_tensors(const nn::Module& model) {
  std::vector<nn::Named<Tensor>> tensors = model.named_parameters();
  for (auto& buffer : model.named_buffers()) tensors.push_back(buffer);
  for (auto& [name, tensor] : tensors) name = without_module(name);
  return tensors;
}

}  // namespace

void save_weights(const nn::Module& model, const std::string& path) {
  std::vector<data::TensorFileEntry> entries;
  for (const auto& [name, tensor] : all_tensors(model)) {
    const Tensor host = ops::copy_to(tensor.detach(), kHost, {"d2h", "weights"});
    data::TensorFileEntry entry{
        name, file_type(host.dtype()), {host.sizes().begin(), host.sizes().end()}, {}};
    entry.data.resize(host.nbytes());
    std::memcpy(entry.data.data(), host.view().data, host.nbytes());
    entries.push_back(std::move(entry));
  }
  data::write_safetensors(path, entries, {{"format", "pt"}});
}

void load_weights(nn::Module& model, const std::string& path) {
  std::map<std::string, data::TensorFileEntry> entries;
  for (data::TensorFileEntry& entry : data::read_safetensors(path)) {
    const std::string name = without_module(entry.name);
    entries[name] = std::move(entry);
  }
  const auto tensors = all_tensors(model);
  for (const auto& [name, tensor] : tensors) {
    const auto found = entries.find(name);
    if (found == entries.end()) {
      throw std::runtime_error(path + " has no tensor '" + name +
                               "'; it was saved from another architecture (-a)");
    }
    const data::TensorFileEntry& entry = found->second;
    if (Shape(entry.shape) == tensor.sizes() &&
        entry.dtype == file_type(tensor.dtype())) {
      continue;
    }
    throw std::runtime_error(path + ": '" + name + "' is " + entry.dtype + " " +
                             Shape(entry.shape).str() + ", the model wants " +
                             file_type(tensor.dtype()) + " " + tensor.sizes().str() +
                             "; check -a, --stem and the number of classes");
  }
  if (entries.size() != tensors.size()) {
    for (const auto& [name, tensor] : tensors) entries.erase(name);
    throw std::runtime_error(path + ": unexpected tensor '" + entries.begin()->first +
                             "'; it was saved from another architecture (-a)");
  }
  for (auto [name, tensor] : tensors) {
    const data::TensorFileEntry& entry = entries[name];
    Tensor host = Tensor::empty(tensor.sizes(), kHost, tensor.dtype());
    std::memcpy(host.view().data, entry.data.data(), entry.data.size());
    tensor.set_data(tensor.device().is_host()
                        ? host
                        : ops::copy_to(host, tensor.device(), {"h2d", "weights"}));
  }
}

}  // namespace lockstep::train

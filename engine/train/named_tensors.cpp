#include "engine/train/named_tensors.h"

#include <cstring>
#include <stdexcept>

#include "engine/ops/copy.h"
#include "engine/train/checkpoint.h"

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

}  // namespace

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

data::TensorFileEntry to_entry(const std::string& name, const Tensor& tensor) {
  const Tensor host = ops::copy_to(tensor.detach(), kHost, {"d2h", "weights"});
  data::TensorFileEntry entry{
      name, file_type(host.dtype()), {host.sizes().begin(), host.sizes().end()}, {}};
  entry.data.resize(host.nbytes());
  std::memcpy(entry.data.data(), host.view().data, host.nbytes());
  return entry;
}

Tensor to_tensor(const data::TensorFileEntry& entry, DType type) {
  Tensor host = Tensor::empty(Shape(entry.shape), kHost, type);
  std::memcpy(host.view().data, entry.data.data(), entry.data.size());
  return host;
}

void require_fitting(const Entries& entries,
                     const std::vector<nn::Named<Tensor>>& tensors,
                     const std::string& path) {
  for (const auto& [name, tensor] : tensors) {
    const auto found = entries.find(name);
    if (found == entries.end()) {
      throw std::runtime_error(path + " has no tensor '" + name +
                               "'; fix: use the -a that it was saved with");
    }
    const data::TensorFileEntry& entry = found->second;
    if (Shape(entry.shape) == tensor.sizes() &&
        entry.dtype == file_type(tensor.dtype())) {
      continue;
    }
    throw std::runtime_error(
        path + ": '" + name + "' is " + entry.dtype + " " + Shape(entry.shape).str() +
        ", the model expects " + file_type(tensor.dtype()) + " " +
        tensor.sizes().str() +
        "; fix: check -a, --stem, --dtype and the number of classes");
  }
  if (entries.size() == tensors.size()) return;
  Entries unexpected = entries;
  for (const auto& [name, tensor] : tensors) unexpected.erase(name);
  throw std::runtime_error(path + ": unexpected tensor '" + unexpected.begin()->first +
                           "'; fix: use the -a that it was saved with");
}

void assign(const Entries& entries, const std::vector<nn::Named<Tensor>>& tensors) {
  for (auto [name, tensor] : tensors) {
    const Tensor host = to_tensor(entries.at(name), tensor.dtype());
    tensor.set_data(tensor.device().is_host()
                        ? host
                        : ops::copy_to(host, tensor.device(), {"h2d", "weights"}));
  }
}

void save_weights(const nn::Module& model, const std::string& path) {
  std::vector<data::TensorFileEntry> entries;
  for (const auto& [name, tensor] : all_tensors(model)) {
    entries.push_back(to_entry(name, tensor));
  }
  data::write_safetensors(path, entries, {{"format", "pt"}});
}

void load_weights(nn::Module& model, const std::string& path) {
  Entries entries;
  data::Metadata metadata;
  for (data::TensorFileEntry& entry : data::read_safetensors(path, &metadata)) {
    if (is_checkpoint(metadata) && is_optimizers(entry.name)) continue;
    const std::string name = without_module(entry.name);
    entries[name] = std::move(entry);
  }
  const auto tensors = all_tensors(model);
  require_fitting(entries, tensors, path);
  assign(entries, tensors);
}

}  // namespace lockstep::train

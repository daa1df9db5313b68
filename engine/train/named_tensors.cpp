#include "engine/train/named_tensors.h"

#include <cstring>
#include <stdexcept>

#include "engine/ops/copy.h"
#include "engine/train/checkpoint.h"
#include "engine/train/weight_files.h"

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
      const std::string first =
          entries.empty() ? "" : ", but '" + entries.begin()->first + "'";
      throw std::runtime_error(path + " has no tensor '" + name + "'" + first +
                               "; fix: use the -a that it was saved with");
    }
    const data::TensorFileEntry& entry = found->second;
    if (Shape(entry.shape) == tensor.sizes() &&
        entry.dtype == file_type(tensor.dtype())) {
      continue;
    }
    throw std::runtime_error(
        path + ": '" + name + "' is " + entry.dtype + " " + Shape(entry.shape).str() +
        ", but the model expects " + file_type(tensor.dtype()) + " " +
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

namespace {

/// Returns the names of the last layer's tensors if their numbers of outputs differ
/// from those in the file, and all other sizes are equal.
std::vector<std::string> other_outputs(const nn::Module& model,
                                       const Entries& entries) {
  const auto parameters = model.named_parameters();
  if (parameters.empty()) return {};
  std::vector<std::string> names;
  const std::string last = without_module(parameters.back().name);
  const std::string layer = last.substr(0, last.rfind('.') + 1);
  for (const auto& [name, tensor] : parameters) {
    const std::string in_file = without_module(name);
    if (!in_file.starts_with(layer)) continue;
    const auto found = entries.find(in_file);
    if (found == entries.end()) return {};
    std::vector<int64_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
    const std::vector<int64_t>& shape = found->second.shape;
    if (shape.empty() || sizes.empty() || shape[0] == sizes[0]) return {};
    sizes[0] = shape[0];
    if (shape != sizes) return {};
    names.push_back(in_file);
  }
  return names;
}

/// Lightning's modules, and training loops of one's own, name the network as a member:
/// `model.conv1.weight`. Removes that if it is all that differs.
Entries without_member(Entries entries, const std::vector<nn::Named<Tensor>>& tensors) {
  if (entries.empty() || tensors.empty()) return entries;
  const std::string member =
      entries.begin()->first.substr(0, entries.begin()->first.find('.') + 1);
  const bool differs = !member.empty() && !entries.contains(tensors[0].name) &&
                       entries.contains(member + tensors[0].name);
  if (!differs) return entries;
  Entries plain;
  for (auto& [name, entry] : entries) {
    const bool of_network = name.starts_with(member);
    plain[of_network ? name.substr(member.size()) : name] = std::move(entry);
  }
  return plain;
}

}  // namespace

std::vector<std::string> load_weights(nn::Module& model, const std::string& path,
                                      Classes classes) {
  Entries entries;
  data::Metadata metadata;
  for (data::TensorFileEntry& entry :
       read_weight_file(path, &metadata, Part::weights)) {
    if (is_checkpoint(metadata) && !is_models(entry.name)) continue;
    const std::string name = without_module(entry.name);
    entries[name] = std::move(entry);
  }
  auto tensors = all_tensors(model);
  entries = without_member(std::move(entries), tensors);
  std::vector<std::string> left_out;
  if (classes == Classes::any) left_out = other_outputs(model, entries);
  for (const std::string& name : left_out) {
    entries.erase(name);
    std::erase_if(tensors, [&](const auto& named) { return named.name == name; });
  }
  require_fitting(entries, tensors, path);
  assign(entries, tensors);
  return left_out;
}

}  // namespace lockstep::train

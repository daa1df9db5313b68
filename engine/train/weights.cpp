#include "engine/train/weights.h"

#include "engine/train/checkpoint.h"
#include "engine/train/named_tensors.h"

namespace lockstep::train {

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

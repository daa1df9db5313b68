#include "engine/nn/sync_batch_norm.h"

namespace lockstep::nn {

int convert_sync_batchnorm(Module& module, const SyncBatchNorm& sync) {
  int converted = 0;
  if (auto* layer = dynamic_cast<BatchNorm2d*>(&module)) {
    layer->synchronize(sync);
    ++converted;
  }
  for (const auto& [name, child] : module.children()) {
    converted += convert_sync_batchnorm(*child, sync);
  }
  return converted;
}

bool has_sync_batchnorm(const Module& module) {
  const auto* layer = dynamic_cast<const BatchNorm2d*>(&module);
  if (layer && layer->synchronized()) return true;
  for (const auto& [name, child] : module.children()) {
    if (has_sync_batchnorm(*child)) return true;
  }
  return false;
}

}  // namespace lockstep::nn

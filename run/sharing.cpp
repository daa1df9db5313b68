#include "run/sharing.h"

#include "engine/sharing/local_sgd.h"
#include "engine/sharing/shared_worker.h"

namespace lockstep::run {

sharing::MakeSharing sharing_of(const RunConfig& c, const RankPlace& place) {
  if (const auto shared = place.shared) {
    const bool locks = mode_of(c) == train::Mode::locked;
    const auto lock = locks ? c.shared.lock : sharing::LockFor::nothing;
    return [=, rank = place.rank](nn::Module& model) {
      return std::make_unique<sharing::SharedWorker>(model, shared, rank, lock);
    };
  }
  if (mode_of(c) != train::Mode::local_sgd) return {};
  const sharing::LocalSgdOptions options{c.local_sgd.steps, c.local_sgd.warmup};
  return [options, group = place.group](nn::Module& model) {
    return std::make_unique<sharing::LocalSgd>(model, group, options);
  };
}

std::shared_ptr<sharing::SharedModel> shared_model_of(const RunConfig& c, int world) {
  if (!train::shares_memory(mode_of(c))) return nullptr;
  return std::make_shared<sharing::SharedModel>(c.shared.update, world);
}

}  // namespace lockstep::run

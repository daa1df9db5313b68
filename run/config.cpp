#include "run/config.h"

#include <random>

#include "engine/distributed/rendezvous/launchers.h"

namespace lockstep::run {
namespace {

constexpr std::string_view kToy = "toy", kSparse = "sparse", kAlexNet = "alexnet",
                           kVgg = "vgg", kByEnvironment = "env://";

/// Momentum and weight decay change all weights; a larger rate suits a convex problem.
void adopt_sparse_defaults(RunConfig& c) {
  constexpr double kRate = 1;
  if (!c.given.contains("--lr")) c.recipe.lr = kRate;
  if (!c.given.contains("--momentum")) c.recipe.momentum = 0;
  if (!c.given.contains("--weight-decay")) c.recipe.weight_decay = 0;
}

/// The example's --lr, --momentum and --wd are meant for SGD. If they are not given,
/// the other optimizers use PyTorch's defaults.
void adopt_defaults(RunConfig& c) {
  RecipeConfig& recipe = c.recipe;
  if (is_sparse(c)) return adopt_sparse_defaults(c);
  if (recipe.optimizer == OptimizerKind::sgd) return;
  const bool adaptive = recipe.optimizer != OptimizerKind::rmsprop;
  const bool decoupled = recipe.optimizer == OptimizerKind::adamw;
  const optim::RmspropOptions rmsprop;
  if (!c.given.contains("--lr")) {
    recipe.lr = adaptive ? optim::AdamOptions{}.lr : rmsprop.lr;
  }
  if (!c.given.contains("--weight-decay")) {
    recipe.weight_decay = decoupled ? optim::kAdamWDecay : 0;
  }
  if (!c.given.contains("--momentum")) recipe.momentum = rmsprop.momentum;
}

}  // namespace

void resolve_switches(RunConfig& c) {
  adopt_defaults(c);
  DataConfig& data = c.data;
  if (data.dummy) {
    if (data.kind.value_or(DataKind::generated) != DataKind::generated) {
      throw UsageError("--dummy generates its data; fix: omit --dataset");
    }
    data.kind = DataKind::generated;
    if (data.image_size == 0) data.image_size = 224;
    if (data.classes == 0) data.classes = 1000;
    if (data.length == 0) data.length = 1281167;
  }
  if (c.device.no_accel) {
    if (c.device.type == DeviceType::cuda) {
      throw UsageError("--no-accel trains on the CPU; fix: omit --device-type cuda");
    }
    const bool alone = !c.mode && !ranks_are_processes(c);
    if (alone && c.device.count == 0) c.mode = train::Mode::single;
  }
}

void resolve_seed(RunConfig& c) {
  if (c.draws_seed) {
    c.recipe.seed = std::random_device{}();
  } else if (c.given.contains("--seed") && !c.device.benchmark) {
    c.device.deterministic = true;
  }
}

train::Mode mode_of(const RunConfig& c) {
  if (c.mode && train::can_have_ranks(*c.mode)) return *c.mode;
  if (ranks_are_processes(c)) return train::Mode::ddp;
  if (c.device.gpu) return train::Mode::single;
  if (c.mode) return *c.mode;
  return has_features(c) ? train::Mode::dp_features : train::Mode::dp;
}

bool is_toy(const RunConfig& c) { return c.model.arch == kToy; }

bool is_sparse(const RunConfig& c) { return c.model.arch == kSparse; }

bool has_features(const RunConfig& c) {
  return c.model.arch.starts_with(kAlexNet) || c.model.arch.starts_with(kVgg);
}

bool ranks_are_processes(const RunConfig& c) {
  return c.distributed.multiprocessing || c.distributed.world_size > 1 ||
         c.environment.is_launched_rank() || meets_by_environment(c);
}

bool meets_by_environment(const RunConfig& c) {
  if (c.distributed.world_size >= 0) return false;
  if (c.distributed.url == kByEnvironment) return true;
  const auto launched = distributed::launched_by(c.environment.variables);
  return launched && launched->world > 1 &&
         c.distributed.url != DistributedConfig{}.url;
}

}  // namespace lockstep::run

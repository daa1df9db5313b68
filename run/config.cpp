#include "run/config.h"

#include <random>

namespace lockstep::run {
namespace {

constexpr std::string_view kToy = "toy", kVgg = "vgg", kByEnvironment = "env://";

bool has_ranks(const RunConfig& c) {
  return c.distributed.multiprocessing || c.distributed.world_size > 1 ||
         c.environment.is_launched_rank() || meets_by_environment(c);
}

}  // namespace

void resolve_switches(RunConfig& c) {
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
    const bool alone = !c.mode && !has_ranks(c);
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
  if (has_ranks(c) || c.mode == train::Mode::ddp) return train::Mode::ddp;
  if (c.device.gpu) return train::Mode::single;
  if (c.mode) return *c.mode;
  return has_features(c) ? train::Mode::dp_features : train::Mode::dp;
}

bool is_toy(const RunConfig& c) { return c.model.arch == kToy; }

bool has_features(const RunConfig& c) { return c.model.arch.starts_with(kVgg); }

bool meets_by_environment(const RunConfig& c) {
  return c.distributed.world_size < 0 && c.distributed.url == kByEnvironment;
}

}  // namespace lockstep::run

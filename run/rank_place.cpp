#include "run/rank_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/plan/launch_arithmetic.h"
#include "run/environment.h"

namespace lockstep::run {

std::optional<RankPlace> rank_of_process(const RunConfig& c) {
  const Environment& environment = c.environment;
  const DistributedConfig& distributed = c.distributed;
  RankPlace place;
  place.is_process = true;
  if (environment.is_launched_rank()) {
    place.rank = environment.number(variable::kRank, 0);
    place.world = environment.number(variable::kWorld, 1);
    place.local_rank = environment.number(variable::kLocalRank, 0);
    place.local_world = environment.number(variable::kLocalWorld, 1);
    place.init = environment.text(variable::kInit);
    return place;
  }
  const bool by_torchrun = meets_by_environment(c);
  if (distributed.multiprocessing || (distributed.world_size <= 1 && !by_torchrun)) {
    return std::nullopt;
  }
  place.rank = by_torchrun ? environment.number(variable::kTorchRank, 0)
                           : std::max(distributed.rank, 0);
  place.world = by_torchrun ? environment.number(variable::kTorchWorld, 1)
                            : distributed.world_size;
  place.local_rank = environment.number(variable::kTorchLocalRank, 0);
  place.init = distributed.url;
  return place;
}

std::map<std::string, std::string> variables_of(const RankPlace& place) {
  return {{variable::kRank, std::to_string(place.rank)},
          {variable::kWorld, std::to_string(place.world)},
          {variable::kLocalRank, std::to_string(place.local_rank)},
          {variable::kLocalWorld, std::to_string(place.local_world)},
          {variable::kInit, place.init}};
}

int64_t rank_batch(const RunConfig& c, const RankPlace& place) {
  const int64_t whole = c.recipe.batch_size;
  if (!place.group) return whole;
  const int batch = plan::per_process_batch(static_cast<int>(whole), place.local_world);
  if (batch > 0) return batch;
  throw UsageError(fmt::format("-b {}: less than one image for each of {} ranks", whole,
                               place.local_world));
}

int64_t global_batch(const RunConfig& c, const RankPlace& place) {
  return rank_batch(c, place) * place.world;
}

int64_t update_batch(const RunConfig& c, const RankPlace& place) {
  const bool alone = train::shares_memory(mode_of(c));
  return alone ? rank_batch(c, place) : global_batch(c, place);
}

}  // namespace lockstep::run

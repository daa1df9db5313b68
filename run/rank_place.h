// Identifies a rank of a job: a process or a thread of DistributedDataParallel.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/distributed/collectives/process_group.h"
#include "engine/sharing/parameter_servers.h"
#include "engine/sharing/shared_model.h"
#include "run/config.h"

namespace lockstep::run {

/// One rank of a job. The default stands for a run without ranks: rank 0 of 1.
struct RankPlace {
  int rank = 0, world = 1;
  int local_rank = 0;
  int local_world = 1;      ///< ranks on this node, which share `-b` and `-j`
  bool is_process = false;  ///< otherwise a thread
  std::string init = {};    ///< where processes meet: tcp://…, file://… or env://
  std::shared_ptr<distributed::ProcessGroup> group = nullptr;    ///< null: no ranks
  std::shared_ptr<sharing::SharedModel> shared = nullptr;        ///< see run/sharing.h
  std::shared_ptr<sharing::ParameterServers> servers = nullptr;  ///< --mode ps
  bool main() const { return rank == 0; }                        ///< prints and saves
};

/// Returns the rank of this process, started by spawn_ranks() or `launch`, or by the
/// user with `--world-size` and `--rank` or `--dist-url env://`; nullopt if it is not a
/// rank. Throws std::runtime_error if a variable is not an integer.
std::optional<RankPlace> rank_of_process(const RunConfig& config);

/// Returns the variables that make a process that rank.
std::map<std::string, std::string> variables_of(const RankPlace& place);

/// Returns the batch sizes of one rank and of all ranks together: `-b` is per node, as
/// in the example. Throws UsageError if a rank would receive no samples.
int64_t rank_batch(const RunConfig& config, const RankPlace& place);
int64_t global_batch(const RunConfig& config, const RankPlace& place);
/// Returns how many images one update of the weights is for, without --accumulate.
int64_t update_batch(const RunConfig& config, const RankPlace& place);

}  // namespace lockstep::run

// Which rank of a job this is: a process or a thread of DistributedDataParallel.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/distributed/collectives/process_group.h"
#include "run/config.h"

namespace lockstep::run {

/// One rank of a job; by default the only one of a run without ranks.
struct RankPlace {
  int rank = 0, world = 1;
  int local_rank = 0;
  int local_world = 1;      ///< ranks of this node, which share `-b` and `-j`
  bool is_process = false;  ///< else a thread
  std::string init = {};    ///< where processes meet: tcp://…, file://… or env://
  std::shared_ptr<distributed::ProcessGroup> group = nullptr;  ///< null: no ranks
  bool main() const { return rank == 0; }                      ///< it prints and saves
};

/// Returns which rank this process is: one that spawn_ranks() or `launch` started, or
/// one that the user starts with `--world-size` and `--rank` or `--dist-url env://`.
/// nullopt if it is none. Throws std::runtime_error if a variable is not an integer.
std::optional<RankPlace> rank_of_process(const RunConfig& config);

/// The variables that make a process that rank.
std::map<std::string, std::string> variables_of(const RankPlace& place);

/// The batch of one rank, and of all together: `-b` is a node's, as in the example.
/// Throws UsageError where a rank would get nothing.
int64_t rank_batch(const RunConfig& config, const RankPlace& place);
int64_t global_batch(const RunConfig& config, const RankPlace& place);

}  // namespace lockstep::run

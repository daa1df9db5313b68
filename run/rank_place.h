// Identifies a rank of a job: a process or a thread of DistributedDataParallel.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/distributed/collectives/process_group.h"
#include "engine/distributed/rendezvous/clocks.h"
#include "engine/distributed/rendezvous/neighbours.h"
#include "engine/distributed/rendezvous/store.h"
#include "engine/sharing/servers.h"
#include "engine/sharing/shared_model.h"
#include "run/config.h"

namespace lockstep::run {

/// One rank of a job. The default stands for a run without ranks: rank 0 of 1.
struct RankPlace {
  /// The ranks that compute gradients are 0 to `world` − 1.
  int rank = 0, world = 1;
  int local_rank = 0;         ///< chooses the GPU; −1: unknown before the ranks meet
  int local_world = 1;        ///< ranks on this node, which share `-b` and `-j`
  bool is_process = false;    ///< otherwise a thread
  std::string init = {};      ///< where processes meet, as a --dist-url
  std::string launcher = {};  ///< what started this process: "Slurm"; "" by hand
  std::shared_ptr<distributed::ProcessGroup> group = nullptr;     ///< null: no ranks
  std::shared_ptr<sharing::SharedModel> shared = nullptr;         ///< see run/sharing.h
  std::shared_ptr<sharing::Servers> servers = nullptr;            ///< of a ps worker
  std::shared_ptr<distributed::ProcessGroup> links = nullptr;     ///< with ps servers
  std::shared_ptr<distributed::Neighbours> neighbours = nullptr;  ///< if processes
  std::shared_ptr<distributed::RankClock> clock = nullptr;        ///< if processes
  std::shared_ptr<distributed::Store> store = nullptr;            ///< if processes
  std::shared_ptr<train::StopNotice> stop_notice = nullptr;  ///< --device-type null
  int server_processes = 0;  ///< --mode ps: as many ranks after `world` are servers
  bool main() const { return rank == 0; }           ///< prints and saves
  bool is_server() const { return rank >= world; }  ///< of --mode ps
  int processes() const { return world + server_processes; }
};

/// Returns the rank of this process, started by spawn_ranks() or `launch`, by another
/// launcher (see engine/distributed/rendezvous/launchers.h) and `--dist-url`, or by the
/// user with `--world-size` and `--rank`; nullopt if it is not a rank. Throws
/// std::runtime_error if variables are not integers or contradict each other or the
/// options, and UsageError if this is one of a launcher's several processes, but would
/// train alone.
std::optional<RankPlace> rank_of_process(const RunConfig& config);

/// The place of this process among those that start ranks, one on each node.
struct NodePlace {
  int node = 0, nodes = 1;
  std::string init, launcher;  ///< as in RankPlace; init may be empty for one node
};
/// Returns where `--multiprocessing-distributed` runs: as in main.py, `--world-size`
/// and
/// `--rank`, or RANK and WORLD_SIZE with env://, count nodes, and so do the tasks of a
/// launcher. Throws as rank_of_process does.
NodePlace node_of_process(const RunConfig& config);

/// With --mode ps, the last --servers of the ranks are parameter servers: counts the
/// workers only in `place.world` and, for their shares of the batch, in
/// `place.local_world`. Throws UsageError if no worker would be left, or if one of
/// several machines would have both workers and servers.
void separate_servers(const RunConfig& config, RankPlace& place);

/// With --mode ps in one of several processes, there are as many workers as processes
/// that are no servers.
void adopt_number_of_workers(RunConfig& config);

/// Returns the variables that make a process that rank.
std::map<std::string, std::string> variables_of(const RankPlace& place);

/// Returns whether each rank has a share of the batch. The ranks of a pipeline have
/// stages of one model, through which the whole batch passes.
bool shares_batch(const RunConfig& config, const RankPlace& place);

/// Returns the batch sizes of one rank and of all ranks together: `-b` is per node, as
/// in the example. Throws UsageError if a rank would receive no samples.
int64_t rank_batch(const RunConfig& config, const RankPlace& place);
int64_t global_batch(const RunConfig& config, const RankPlace& place);
/// Returns how many images one update of the weights is for, without --accumulate.
int64_t update_batch(const RunConfig& config, const RankPlace& place);

/// Raises the limit of open files to what rank 0 of `ranks` processes needs. Throws
/// std::runtime_error if it must not.
void require_files_for(int ranks);

}  // namespace lockstep::run

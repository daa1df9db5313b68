// One process per device: what torch.multiprocessing.spawn does for the ImageNet
// example.
#include <fmt/format.h>

#include <chrono>
#include <stdexcept>

#include "cli/processes.h"
#include "cli/rank_process.h"
#include "engine/plan/launch_arithmetic.h"

namespace lockstep::cli {

/// From the first rank's failure to the end of those that have not noticed. (Each
/// names the culprit and ends by itself; one that is stopped cannot.)
constexpr std::chrono::milliseconds kGrace{1500};

int spawn_ranks(const RunOptions& o) {
  const int local = static_cast<int>(devices_of(o).size());
  const int nodes = std::max(o.world_size, 1), node = std::max(o.rank, 0);
  if (node >= nodes) {
    throw std::runtime_error(
        fmt::format("--rank {}: with --world-size {} the nodes are 0 to {}", node,
                    nodes, nodes - 1));
  }
  std::string init = o.dist_url;
  if (nodes == 1 && !o.dist_url_given) {
    init = fmt::format("tcp://127.0.0.1:{}", free_port());
  }
  if (!o.quiet && node == 0) {
    const int world = plan::total_world_size(nodes, local);
    fmt::print("=> {} process{} of DistributedDataParallel meet at {}\n", world,
               world == 1 ? "" : "es", init);
    std::fflush(stdout);
  }
  Processes processes(kGrace);
  for (int gpu = 0; gpu < local; ++gpu) {
    const std::string rank = std::to_string(plan::global_rank(node, gpu, local));
    processes.start(
        "rank " + rank,
        {{"LOCKSTEP_RANK", rank},
         {"LOCKSTEP_WORLD", std::to_string(plan::total_world_size(nodes, local))},
         {"LOCKSTEP_LOCAL_RANK", std::to_string(gpu)},
         {"LOCKSTEP_LOCAL_WORLD", std::to_string(local)},
         {"LOCKSTEP_INIT", init}});
  }
  return processes.wait();
}

}  // namespace lockstep::cli

// `lockstep launch`: one process per device, started again when one fails, each line of
// output with its rank: torchrun's equal.
#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/processes.h"
#include "engine/plan/launch_arithmetic.h"

namespace lockstep::cli {
namespace {

struct LaunchOptions {
  int per_node = 1, nodes = 1, node = 0, max_restarts = 0;
  std::string endpoint;
  std::vector<std::string> command;
};

/// `host:port` of rank 0's machine.
std::pair<std::string, std::string> split(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  if (colon == endpoint.npos || colon == 0 || colon + 1 == endpoint.size()) {
    throw UsageError("--rdzv-endpoint wants HOST:PORT, not '" + endpoint + "'");
  }
  return {endpoint.substr(0, colon), endpoint.substr(colon + 1)};
}

/// All processes of this node, once. The variables are torchrun's.
int run_once(const LaunchOptions& o, int restart) {
  const std::string endpoint =
      o.endpoint.empty() ? fmt::format("127.0.0.1:{}", free_port()) : o.endpoint;
  const auto [host, port] = split(endpoint);
  const int world = plan::total_world_size(o.nodes, o.per_node);
  std::vector<std::string> arguments{"lockstep"};
  arguments.insert(arguments.end(), o.command.begin(), o.command.end());
  Processes processes(std::chrono::milliseconds(1500));
  for (int gpu = 0; gpu < o.per_node; ++gpu) {
    const std::string rank = std::to_string(plan::global_rank(o.node, gpu, o.per_node));
    processes.start("rank " + rank,
                    {{"LOCKSTEP_RANK", rank},
                     {"LOCKSTEP_WORLD", std::to_string(world)},
                     {"LOCKSTEP_LOCAL_RANK", std::to_string(gpu)},
                     {"LOCKSTEP_LOCAL_WORLD", std::to_string(o.per_node)},
                     {"LOCKSTEP_INIT", "tcp://" + endpoint},
                     {"RANK", rank},
                     {"WORLD_SIZE", std::to_string(world)},
                     {"LOCAL_RANK", std::to_string(gpu)},
                     {"MASTER_ADDR", host},
                     {"MASTER_PORT", port},
                     {"TORCHELASTIC_RESTART_COUNT", std::to_string(restart)}},
                    arguments, Processes::Output::prefixed);
  }
  return processes.wait();
}

int run(const LaunchOptions& o) {
  if (o.node >= o.nodes) {
    throw UsageError(
        fmt::format("--node-rank {}: the nodes are 0 to {}", o.node, o.nodes - 1));
  }
  if (o.nodes > 1 && o.endpoint.empty()) {
    throw UsageError("--nnodes over 1 needs --rdzv-endpoint HOST:PORT of node 0");
  }
  if (o.command.empty() || o.command[0] != "train") {
    throw UsageError("launch starts `train`: launch --nproc-per-node 2 -- train …");
  }
  for (int restart = 0;; ++restart) {
    const int code = run_once(o, restart);
    const bool final = code == 0 || code == 2 || code == 130 || code == 143;
    if (final || restart == o.max_restarts) return code;  // 2: wrong usage
    fmt::print(stderr, "lockstep: a rank failed; restart {} of {}\n", restart + 1,
               o.max_restarts);
  }
}

}  // namespace

void add_launch(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "launch", "one process per device, as torchrun: launch … -- train …");
  auto o = std::make_shared<LaunchOptions>();
  command->option_defaults()->always_capture_default();
  command->add_option("--nproc-per-node", o->per_node, "processes of this node")
      ->check(CLI::Range(1, 64));
  command->add_option("--nnodes", o->nodes, "machines")->check(CLI::Range(1, 1024));
  command->add_option("--node-rank", o->node, "which of them this is")
      ->check(CLI::Range(0, 1023));
  command->add_option("--rdzv-endpoint", o->endpoint,
                      "HOST:PORT on node 0 (default: a free port of this machine)");
  command
      ->add_option("--max-restarts", o->max_restarts,
                   "how often to start all again when one fails")
      ->check(CLI::Range(0, 1000));
  command->add_option("COMMAND", o->command, "after --: train and its options");
  command->callback([o, &action] { action = [o] { return run(*o); }; });
}

}  // namespace lockstep::cli

// `lockstep launch`: one process per device, started again when one fails, each line of
// output with its rank: torchrun's equal.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/processes.h"
#include "engine/plan/launch_arithmetic.h"

namespace lockstep::cli {
namespace {

struct LaunchOptions {
  int per_node = 1, nodes = 1, node = 0, max_restarts = 0, master_port = 29500;
  bool standalone = false;
  std::string endpoint, master_addr;
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
                     {"LOCAL_WORLD_SIZE", std::to_string(o.per_node)},
                     {"GROUP_RANK", std::to_string(o.node)},
                     {"MASTER_ADDR", host},
                     {"MASTER_PORT", port},
                     {"TORCHELASTIC_RESTART_COUNT", std::to_string(restart)}},
                    arguments, Processes::Output::prefixed);
  }
  return processes.wait();
}

/// Where rank 0 will listen; empty: at a free port of this machine.
std::string endpoint_of(const LaunchOptions& o) {
  if (o.standalone && (o.nodes > 1 || !o.endpoint.empty() || !o.master_addr.empty())) {
    throw UsageError("--standalone is for one machine, at a free port of its own");
  }
  if (!o.endpoint.empty() && !o.master_addr.empty()) {
    throw UsageError("--rdzv-endpoint and --master-addr say the same; give one");
  }
  if (!o.master_addr.empty()) {
    return fmt::format("{}:{}", o.master_addr, o.master_port);
  }
  if (o.nodes > 1 && o.endpoint.empty()) {
    throw UsageError("--nnodes over 1 needs --rdzv-endpoint HOST:PORT of node 0");
  }
  return o.endpoint;
}

int run(LaunchOptions o) {
  if (o.node >= o.nodes) {
    throw UsageError(
        fmt::format("--node-rank {}: the nodes are 0 to {}", o.node, o.nodes - 1));
  }
  o.endpoint = endpoint_of(o);
  if (o.command.empty() || o.command[0] != "train") {
    const std::string got = o.command.empty() ? "nothing" : "'" + o.command[0] + "'";
    throw UsageError("launch starts `train`, not " + got +
                     ": launch --nproc-per-node 2 train …");
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

/// As torchrun, it needs no `--` before what it starts: from `train` on, all is
/// train's.
std::vector<std::string> cut_launched_command(std::vector<std::string>& words) {
  if (words.empty() || words[0] != "launch") return {};
  auto begin = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "--" || word == "train";
  });
  std::vector<std::string> command(begin, words.end());
  words.erase(begin, words.end());
  if (!command.empty() && command[0] == "--") command.erase(command.begin());
  return command;
}

/// The flags are torchrun's, in both of its spellings: --nproc-per-node and
/// --nproc_per_node.
void add_launch(CLI::App& app, Action& action,
                const std::vector<std::string>& started) {
  auto* command = app.add_subcommand(
      "launch", "one process per device, as torchrun: launch … train …");
  auto o = std::make_shared<LaunchOptions>();
  command->option_defaults()->always_capture_default();
  command
      ->add_option("--nproc-per-node,--nproc_per_node", o->per_node,
                   "processes of this node")
      ->check(CLI::Range(1, 64));
  command->add_option("--nnodes", o->nodes, "machines")->check(CLI::Range(1, 1024));
  command->add_option("--node-rank,--node_rank", o->node, "which of them this is")
      ->check(CLI::Range(0, 1023));
  command->add_option("--rdzv-endpoint,--rdzv_endpoint", o->endpoint,
                      "HOST:PORT on node 0 (default: a free port of this machine)");
  command->add_option("--master-addr,--master_addr", o->master_addr,
                      "the same as HOST and PORT apart");
  command->add_option("--master-port,--master_port", o->master_port)
      ->check(CLI::Range(1, 65535));
  command->add_flag("--standalone", o->standalone,
                    "one machine, a free port (what happens by default, too)");
  command
      ->add_option("--max-restarts,--max_restarts", o->max_restarts,
                   "how often to start all again when one fails")
      ->check(CLI::Range(0, 1000));
  command->footer("[--] train …        what each process runs");
  command->callback([o, &started, &action] {
    o->command = started;
    action = [o] { return run(*o); };
  });
}

}  // namespace lockstep::cli

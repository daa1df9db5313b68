// `lockstep launch`: the counterpart of torchrun. Starts one process per device,
// restarts all if one fails, and prefixes each line of output with its rank.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "run/launch.h"

namespace lockstep::cli {
namespace {

struct LaunchFlags {
  run::LaunchOptions launch;
  int master_port = 29500;
  bool standalone = false;
  std::string master_addr;
};

/// The endpoint on which rank 0 will listen; empty: a free port on this machine.
std::string endpoint_of(const LaunchFlags& flags) {
  const std::string& endpoint = flags.launch.endpoint;
  const std::string& host = flags.master_addr;
  const int nodes = flags.launch.nodes;
  if (flags.standalone && (nodes > 1 || !endpoint.empty() || !host.empty())) {
    throw UsageError(
        "--standalone uses one machine and a free port; fix: omit --nnodes, "
        "--rdzv-endpoint and --master-addr");
  }
  if (!endpoint.empty() && !host.empty()) {
    throw UsageError("--rdzv-endpoint and --master-addr are mutually exclusive");
  }
  if (!host.empty()) return fmt::format("{}:{}", host, flags.master_port);
  if (nodes > 1 && endpoint.empty()) {
    throw UsageError(
        "--nnodes greater than 1 requires --rdzv-endpoint HOST:PORT on node 0");
  }
  return endpoint;
}

int check_and_launch(const LaunchFlags& flags) {
  run::LaunchOptions o = flags.launch;
  if (o.node >= o.nodes) {
    throw UsageError(
        fmt::format("--node-rank {}: must be from 0 to {}", o.node, o.nodes - 1));
  }
  o.endpoint = endpoint_of(flags);
  if (o.command.empty() || o.command[0] != "train") {
    const std::string got = o.command.empty() ? "nothing" : "'" + o.command[0] + "'";
    throw UsageError("launch runs `train`, not " + got +
                     ": launch --nproc-per-node 2 train …");
  }
  return run::launch(o);
}

}  // namespace

/// As with torchrun, no `--` is required before the command to be started: everything
/// from `train` onward belongs to `train`.
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

/// Accepts torchrun's flags in both spellings: --nproc-per-node and
/// --nproc_per_node.
void add_launch(CLI::App& app, Action& action,
                const std::vector<std::string>& started) {
  auto* command = app.add_subcommand(
      "launch", "start one process per device, like torchrun: launch … train …");
  auto o = std::make_shared<LaunchFlags>();
  command->option_defaults()->always_capture_default();
  command
      ->add_option("--nproc-per-node,--nproc_per_node", o->launch.per_node,
                   "processes per node")
      ->check(CLI::Range(1, 64));
  command->add_option("--nnodes", o->launch.nodes, "number of nodes")
      ->check(CLI::Range(1, 1024));
  command->add_option("--node-rank,--node_rank", o->launch.node, "rank of this node")
      ->check(CLI::Range(0, 1023));
  command->add_option("--rdzv-endpoint,--rdzv_endpoint", o->launch.endpoint,
                      "HOST:PORT on node 0 (default: a free port on this machine)");
  command->add_option("--master-addr,--master_addr", o->master_addr,
                      "HOST alone, with --master-port");
  command->add_option("--master-port,--master_port", o->master_port)
      ->check(CLI::Range(1, 65535));
  command->add_flag("--standalone", o->standalone,
                    "one machine and a free port (the default)");
  command
      ->add_option("--max-restarts,--max_restarts", o->launch.max_restarts,
                   "maximum number of restarts of all processes after one fails")
      ->check(CLI::Range(0, 1000));
  command->footer("[--] train …        command run by each process");
  command->callback([o, &started, &action] {
    o->launch.command = started;
    action = [o] { return check_and_launch(*o); };
  });
}

}  // namespace lockstep::cli

// `lockstep launch`: the counterpart of torchrun. Starts one process per device,
// restarts all if one fails, and prefixes each line of output with its rank.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/container.h"
#include "base/socket.h"
#include "cli/commands.h"
#include "engine/backends/backend.h"
#include "engine/distributed/rendezvous/launchers.h"
#include "run/environment.h"
#include "run/launch.h"

namespace lockstep::cli {
namespace {

struct LaunchFlags {
  run::LaunchOptions launch;
  std::string per_node = "1";
  std::optional<int> nodes, node, master_port;
  bool standalone = false;
  std::string master_addr, backend = "static", tee;
};

constexpr int kMasterPort = 29500;  // torchrun's default

/// `auto`, `gpu` and `cpu`, as torchrun counts them; otherwise a number.
int processes_per_node(const std::string& words) {
  const int gpus = static_cast<int>(cuda_status().gpus.size());
  if (words == "gpu" && gpus == 0) {
    throw UsageError("--nproc-per-node gpu: " + cuda_status().why_not);
  }
  if (words == "cpu" || (words == "auto" && gpus == 0)) return usable_cores();
  if (words == "auto" || words == "gpu") return gpus;
  return std::stoi(words);  // see count_or_word
}

/// A launcher that starts one process on each node, which starts the ranks there: it
/// says which node this is, unless the options do. Returns whether it did.
bool adopt_launcher(const LaunchFlags& flags, run::LaunchOptions& o) {
  const auto launched = distributed::launched_by(run::read_environment().variables);
  if (!launched || launched->world == 1) return false;
  if (launched->local_world.value_or(1) > 1) {
    throw UsageError(fmt::format(
        "{} started {} processes on this node, and `launch` would start "
        "--nproc-per-node ranks in each of them; fix: start one process per node, or "
        "run `train --dist-url env://` without `launch`",
        launched->by, *launched->local_world));
  }
  if (!flags.nodes) o.nodes = launched->world;
  const bool numbers = !flags.node && o.nodes == launched->world;
  if (numbers) o.node = launched->rank;
  if (flags.nodes || !o.endpoint.empty() || !flags.master_addr.empty()) return numbers;
  o.endpoint = distributed::endpoint_of(*launched);
  fmt::print("=> launched by {}: node {} of {}, rendezvous at {}\n", launched->by,
             o.node, o.nodes, o.endpoint);
  std::fflush(stdout);
  return numbers;
}

/// The endpoint on which rank 0 will listen; empty: a free port on this machine.
std::string endpoint_of(const LaunchFlags& flags, const run::LaunchOptions& options) {
  const std::string& endpoint = options.endpoint;
  const std::string& host = flags.master_addr;
  const int nodes = options.nodes;
  if (flags.standalone && (nodes > 1 || !endpoint.empty() || !host.empty())) {
    throw UsageError(
        "--standalone uses one machine and a free port; fix: omit --nnodes, "
        "--rdzv-endpoint and --master-addr");
  }
  if (!endpoint.empty() && !host.empty()) {
    throw UsageError("--rdzv-endpoint and --master-addr are mutually exclusive");
  }
  const int port = flags.master_port.value_or(kMasterPort);
  if (!host.empty()) return tcp_url(host, port).substr(std::string("tcp://").size());
  if (nodes > 1 && endpoint.empty()) {
    throw UsageError(
        "--nnodes greater than 1 requires --rdzv-endpoint HOST:PORT, or --master-addr "
        "HOST, of node 0");
  }
  if (endpoint.empty() && flags.master_port) {
    return loopback_endpoint(port);
  }
  return endpoint;
}

/// Returns the value of `--name VALUE` or `--name=VALUE` in a command; "" if it is
/// given without one.
std::optional<std::string> value_of(const std::vector<std::string>& command,
                                    const std::string& name) {
  for (auto word = command.begin(); word != command.end(); ++word) {
    if (word->starts_with(name + "=")) return word->substr(name.size() + 1);
    if (*word == name) return word + 1 == command.end() ? "" : *(word + 1);
  }
  return std::nullopt;
}

/// Refuses options of `train` that ranks started by `launch` would not obey, and
/// options of `launch` that are given to `train`.
void check_command(const std::vector<std::string>& command) {
  for (const char* name :
       {"--rank", "--world-size", "--dist-url", "--multiprocessing-distributed"}) {
    const auto value = value_of(command, name);
    if (!value || value == "env://") continue;
    throw UsageError(fmt::format(
        "{}: launch gives each rank its number, the world size and the address; fix: "
        "omit it, and use launch's --nproc-per-node, --nnodes, --node-rank and "
        "--rdzv-endpoint",
        name));
  }
  for (const char* name :
       {"--nproc-per-node", "--nproc_per_node", "--nnodes", "--node-rank",
        "--node_rank", "--rdzv-endpoint", "--rdzv_endpoint", "--master-addr",
        "--master_addr", "--master-port", "--master_port", "--max-restarts",
        "--max_restarts"}) {
    if (!value_of(command, name)) continue;
    throw UsageError(
        fmt::format("{} is an option of launch; fix: move it before train", name));
  }
}

[[noreturn]] void refuse_command(const std::string& got) {
  throw UsageError("launch runs `train`, not " + got +
                   ": launch --nproc-per-node 2 train …");
}

/// Refuses words before `train`, such as those of torchrun: `launch main.py`.
void refuse_extras(const std::vector<std::string>& words) {
  if (words.empty()) return;
  if (!words[0].starts_with("-")) refuse_command("'" + words[0] + "'");
  throw UsageError("The following argument was not expected: " + words[0] +
                   "; see lockstep launch --help");
}

int check_and_launch(const LaunchFlags& flags) {
  run::LaunchOptions o = flags.launch;
  o.per_node = processes_per_node(flags.per_node);
  o.nodes = flags.nodes.value_or(1);
  o.node = flags.node.value_or(0);
  const bool by_launcher = !flags.standalone && adopt_launcher(flags, o);
  if (o.node >= o.nodes) {
    throw UsageError(
        fmt::format("--node-rank {}: must be from 0 to {}", o.node, o.nodes - 1));
  }
  if (flags.backend == "c10d" && !flags.node && !by_launcher && o.nodes > 1) {
    throw UsageError(
        fmt::format("--rdzv-backend c10d: unlike torchrun's, it does not number the "
                    "nodes; fix: add "
                    "--node-rank, from 0 to {}",
                    o.nodes - 1));
  }
  o.endpoint = endpoint_of(flags, o);
  if (o.command.empty() || o.command[0] != "train") {
    refuse_command(o.command.empty() ? "nothing" : "'" + o.command[0] + "'");
  }
  check_command(o.command);
  return run::launch(o);
}

/// torchrun's MIN:MAX, as Kubeflow writes it, if both are the same. CLI11's form of a
/// check: changes `text`, and returns what is wrong.
std::string one_size(std::string& text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) return "";
  if (text.substr(0, colon) != text.substr(colon + 1)) {
    return text + ": elastic sizes are not supported; fix: give one number of nodes";
  }
  text.resize(colon);
  return "";
}

/// A validator of --nproc-per-node.
std::string count_or_word(const std::string& text) {
  if (text == "auto" || text == "gpu" || text == "cpu") return "";
  int count = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, count);
  if (read.ec == std::errc() && read.ptr == end && count >= 1 && count <= 64) return "";
  return text + " must be from 1 to 64, or auto, gpu or cpu";
}

void add_nodes(CLI::App& command, LaunchFlags& o) {
  command.add_option("--nnodes", o.nodes, "number of nodes (default: 1)")
      ->envname("PET_NNODES")
      ->transform(CLI::Validator(one_size, ""))
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--node-rank,--node_rank", o.node, "rank of this node (default: 0)")
      ->envname("PET_NODE_RANK")
      ->check(CLI::Range(0, 1023));
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
      ->add_option(
          "--nproc-per-node,--nproc_per_node", o->per_node,
          "processes per node: a number, gpu (one for each), cpu (one for each "
          "core), or auto (gpu if there is one, else cpu)")
      ->envname("PET_NPROC_PER_NODE")
      ->check(count_or_word, "");
  add_nodes(*command, *o);
  command
      ->add_option("--rdzv-endpoint,--rdzv_endpoint", o->launch.endpoint,
                   "HOST:PORT on node 0 (default: a free port on this machine)")
      ->envname("PET_RDZV_ENDPOINT");
  command
      ->add_option(
          "--rdzv-backend,--rdzv_backend", o->backend,
          "static or c10d: both are a store in rank 0, and require --node-rank")
      ->envname("PET_RDZV_BACKEND")
      ->check(CLI::IsMember({"static", "c10d"}));
  command
      ->add_option("--rdzv-id,--rdzv_id", o->launch.id,
                   "name of the job: TORCHELASTIC_RUN_ID of its processes")
      ->envname("PET_RDZV_ID");
  command
      ->add_option("--master-addr,--master_addr", o->master_addr,
                   "HOST of node 0, with --master-port")
      ->envname("PET_MASTER_ADDR");
  command
      ->add_option(
          "--master-port,--master_port", o->master_port,
          "port of rank 0 (default: 29500 with --master-addr, else a free one)")
      ->envname("PET_MASTER_PORT")
      ->check(CLI::Range(1, 65535));
  command->add_option("-t,--tee", o->tee,
                      "accepted: the output of all ranks is always shown");
  command
      ->add_flag("--standalone", o->standalone,
                 "one machine and a free port (the default)")
      ->envname("PET_STANDALONE");
  command
      ->add_option("--max-restarts,--max_restarts", o->launch.max_restarts,
                   "maximum number of restarts of all processes after one fails; with "
                   "--checkpoint, they continue from the newest checkpoint")
      ->envname("PET_MAX_RESTARTS")
      ->check(CLI::Range(0, 1000));
  command->footer("[--] train …        command run by each process");
  command->allow_extras();
  command->callback([o, &started, &action, command] {
    refuse_extras(command->remaining());
    o->launch.command = started;
    action = [o] { return check_and_launch(*o); };
  });
}

}  // namespace lockstep::cli

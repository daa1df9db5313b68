#include "run/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "base/socket.h"
#include "engine/distributed/rendezvous/credentials.h"
#include "engine/plan/launch_arithmetic.h"
#include "run/child_group.h"
#include "run/devices.h"
#include "run/environment.h"
#include "run/rank_files.h"
#include "run/rank_place.h"

namespace lockstep::run {
namespace {

/// Time between the first rank's failure and the termination of the others. (Each names
/// the culprit and exits on its own; a stopped process cannot.)
constexpr Milliseconds kGrace{1500};

/// Ranks of one machine have a secret of their own, so that no other user of it can
/// take part, unless the user has set one.
std::map<std::string, std::string> secret_of_ranks(int nodes) {
  const auto is_set = [](const char* name) {
    const char* text = std::getenv(name);
    return text != nullptr && *text != 0;
  };
  if (nodes > 1 || is_set(distributed::kSecretVariable) ||
      is_set(distributed::kSecretFileVariable)) {
    return {};
  }
  return {{distributed::kSecretVariable, distributed::draw_secret()}};
}

RankPlace place_of(int node, int gpu, int nodes, int per_node) {
  RankPlace place;
  place.rank = plan::global_rank(node, gpu, per_node);
  place.world = plan::total_world_size(nodes, per_node);
  place.local_rank = gpu;
  place.local_world = per_node;
  return place;
}

/// Servers are the last processes of a job, but each node starts its workers first.
[[noreturn]] void refuse_servers(const RunConfig& c, int nodes) {
  const int workers = static_cast<int>(devices_of(c).size());
  throw UsageError(fmt::format(
      "--multiprocessing-distributed starts {} workers and {} servers on one machine, "
      "but --world-size {} asks for {} machines, of which the last must have all "
      "servers, in processes of their own; fix: "
      "on each machine NODE, from 0 to {}: launch --nnodes {} --node-rank NODE "
      "--nproc-per-node {} --rdzv-endpoint HOST:PORT -- train … --mode ps --servers "
      "{}, without --multiprocessing-distributed, --world-size, --rank and --dist-url",
      workers, c.ps.servers, nodes, nodes, nodes - 1, nodes, workers, workers));
}

}  // namespace

int spawn_ranks(const RunConfig& c) {
  const bool serves = mode_of(c) == train::Mode::ps;
  const int local =
      static_cast<int>(devices_of(c).size()) + (serves ? c.ps.servers : 0);
  const NodePlace place_of_node = node_of_process(c);
  const auto [node, nodes] = std::pair(place_of_node.node, place_of_node.nodes);
  if (serves && nodes > 1) refuse_servers(c, nodes);
  std::string init = place_of_node.init;
  if (init.empty()) init = "tcp://" + loopback_endpoint(free_port());
  if (!place_of_node.launcher.empty() && !c.output.quiet) {
    fmt::print("=> launched by {}: node {} of {}\n", place_of_node.launcher, node,
               nodes);
  }
  if (!c.output.quiet && node == 0) {
    const int world = plan::total_world_size(nodes, local);
    const train::Mode mode = mode_of(c);
    const char* kind =
        mode == train::Mode::ddp ? "DistributedDataParallel" : train::name(mode);
    fmt::print("=> starting {} {} process{}, rendezvous at {}\n", world, kind,
               world == 1 ? "" : "es", init);
    std::fflush(stdout);
  }
  if (node == 0) require_files_for(plan::total_world_size(nodes, local));
  const auto secret = secret_of_ranks(nodes);
  ChildGroup ranks(kGrace);
  for (int gpu = 0; gpu < local; ++gpu) {
    RankPlace place = place_of(node, gpu, nodes, local);
    place.init = init;
    auto variables = variables_of(place);
    variables.insert(secret.begin(), secret.end());
    ranks.start(fmt::format("rank {}", place.rank), c.environment.arguments, variables);
  }
  const int code = ranks.wait(train::Trainer::stop);
  if (code != 0 && !c.output.trace.empty())
    say_what_is_left(c.output.trace, node * local, local);
  return code;
}

namespace {

/// Splits `host:port`, an endpoint on rank 0's machine; `[IPv6]:port` loses the
/// brackets, as in MASTER_ADDR.
std::pair<std::string, std::string> split_endpoint(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  if (colon == endpoint.npos || colon == 0 || colon + 1 == endpoint.size()) {
    throw UsageError("--rdzv-endpoint must be HOST:PORT, not '" + endpoint + "'");
  }
  std::string host = endpoint.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, endpoint.substr(colon + 1)};
}

/// Runs all processes of this node once. Sets our variables and torchrun's. Returns the
/// exit code, and whether this launcher was told to end.
std::pair<int, bool> launch_once(const LaunchOptions& o, int restart) {
  const std::string endpoint =
      o.endpoint.empty() ? loopback_endpoint(free_port()) : o.endpoint;
  const auto [host, port] = split_endpoint(endpoint);
  std::vector<std::string> arguments{"lockstep"};
  arguments.insert(arguments.end(), o.command.begin(), o.command.end());
  if (o.node == 0) require_files_for(plan::total_world_size(o.nodes, o.per_node));
  const auto secret = secret_of_ranks(o.nodes);
  ChildGroup ranks(kGrace);
  for (int gpu = 0; gpu < o.per_node; ++gpu) {
    RankPlace place = place_of(o.node, gpu, o.nodes, o.per_node);
    place.init = "tcp://" + endpoint;
    auto variables = variables_of(place);
    variables.insert(secret.begin(), secret.end());
    variables.merge(std::map<std::string, std::string>{
        {variable::kTorchRank, std::to_string(place.rank)},
        {variable::kTorchWorld, std::to_string(place.world)},
        {variable::kTorchLocalRank, std::to_string(place.local_rank)},
        {"LOCAL_WORLD_SIZE", std::to_string(place.local_world)},
        {"GROUP_RANK", std::to_string(o.node)},
        {"MASTER_ADDR", host},
        {"MASTER_PORT", port},
        {"TORCHELASTIC_RUN_ID", o.id},
        {variable::kRestart, std::to_string(restart)}});
    ranks.start(fmt::format("rank {}", place.rank), arguments, variables,
                ChildGroup::Output::prefixed);
  }
  const int code = ranks.wait(train::Trainer::stop);
  return {code, ranks.signal() != 0};
}

}  // namespace

int launch(const LaunchOptions& o) {
  for (int restart = 0;; ++restart) {
    const auto [code, told_to_end] = launch_once(o, restart);
    const bool final = code == 0 || code == 2 || code == 130 || code == 143;
    if (final || told_to_end || restart == o.max_restarts) return code;  // 2: usage
    fmt::print(stderr, "lockstep: a rank failed; restart {} of {}\n", restart + 1,
               o.max_restarts);
  }
}

int free_port() { return port_of(listen_at(loopback_address(), 0)); }

}  // namespace lockstep::run

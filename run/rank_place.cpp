#include "run/rank_place.h"

#include "base/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/distributed/rendezvous/init_method.h"
#include "engine/distributed/rendezvous/launchers.h"
#include "engine/plan/launch_arithmetic.h"
#include "run/environment.h"

namespace lockstep::run {

namespace {

using distributed::Launched;

std::string address_of(const Launched& launched) {
  return distributed::meeting_place(launched, distributed::job_folder(),
                                    distributed::launcher_process(launched.world_name));
}

/// Refuses `--rank` and `--world-size` that contradict a launcher of several processes.
void require_agreement(const DistributedConfig& flags,
                       const std::optional<Launched>& launched) {
  if (!launched || launched->world == 1) return;
  const bool same_world = flags.world_size < 0 || flags.world_size == launched->world;
  const bool same_rank = flags.rank < 0 || flags.rank == launched->rank;
  if (same_world && same_rank) return;
  std::string given;
  if (flags.rank >= 0) given += fmt::format(" --rank {}", flags.rank);
  if (flags.world_size >= 0) given += fmt::format(" --world-size {}", flags.world_size);
  throw std::runtime_error(fmt::format(
      "{} started this process as number {} of {}, but the options say{}; fix: omit "
      "--rank and --world-size, or unset {}",
      launched->by, launched->rank, launched->world, given, launched->world_name));
}

/// One of several processes that would train alone is a mistake: each would have a
/// model of its own, and write the same files.
void refuse_unused(const std::optional<Launched>& launched) {
  if (!launched || launched->world == 1) return;
  throw UsageError(fmt::format(
      "{0} started {1} processes ({2}={1}), but without --dist-url each would train "
      "alone; fix: add --dist-url env:// to train together, or unset {2} if they are "
      "meant to be independent",
      launched->by, launched->world, launched->world_name));
}

/// In Slurm's batch script, which is itself no task, `srun` may have been forgotten.
void require_tasks(const RunConfig& c) {
  if (c.environment.text("SLURM_JOB_ID").empty()) return;
  if (!c.environment.text("MASTER_ADDR").empty()) return;
  throw UsageError(
      "--dist-url env://: this process is in a Slurm job, but is none of its tasks; "
      "fix: start it with srun (srun ./lockstep train …)");
}

void adopt(RankPlace& place, const Launched& launched) {
  place.rank = launched.rank;
  place.world = launched.world;
  place.local_rank = launched.local_rank.value_or(-1);
  place.local_world = launched.local_world.value_or(1);
  place.launcher = launched.by;
}

int rank_by_hand(const DistributedConfig& flags) {
  if (flags.rank >= 0) return flags.rank;
  throw UsageError(fmt::format(
      "--world-size {}: which of them is this? fix: add --rank, from 0 to {}",
      flags.world_size, flags.world_size - 1));
}

RankPlace launched_rank(const Environment& environment) {
  RankPlace place;
  place.is_process = true;
  place.rank = environment.number(variable::kRank, 0);
  place.world = environment.number(variable::kWorld, 1);
  place.local_rank = environment.number(variable::kLocalRank, 0);
  place.local_world = environment.number(variable::kLocalWorld, 1);
  place.init = environment.text(variable::kInit);
  return place;
}

constexpr const char* kEnv = "env://";

}  // namespace

std::optional<RankPlace> rank_of_process(const RunConfig& c) {
  if (c.environment.is_launched_rank()) return launched_rank(c.environment);
  const DistributedConfig& flags = c.distributed;
  if (flags.multiprocessing) return std::nullopt;  // see node_of_process
  const auto launched = distributed::launched_by(c.environment.variables);
  require_agreement(flags, launched);
  RankPlace place;
  place.is_process = true;
  place.init = flags.url;
  if (meets_by_environment(c)) {
    if (!launched) {  // names the missing variable
      require_tasks(c);
      const auto init = distributed::parse_init_method(flags.url);
      throw std::runtime_error(
          fmt::format("{}: RANK and WORLD_SIZE are not set; fix: "
                      "set them, or use --rank and --world-size",
                      init.host));
    }
    adopt(place, *launched);
    if (flags.url == kEnv) place.init = address_of(*launched);
    return place;
  }
  if (flags.world_size <= 1) {
    refuse_unused(launched);
    if (flags.rank > 0) {
      throw UsageError(fmt::format(
          "--rank {}: this is one of several processes, but without --world-size it "
          "would train alone; fix: add --world-size N to all of them, where N is their "
          "number",
          flags.rank));
    }
    return std::nullopt;
  }
  place.world = flags.world_size;
  place.local_rank = c.environment.number(variable::kTorchLocalRank, -1);
  if (launched && launched->world > 1) {
    adopt(place, *launched);
    if (flags.url == DistributedConfig{}.url) place.init = address_of(*launched);
  } else {
    place.rank = rank_by_hand(flags);
  }
  return place;
}

NodePlace node_of_process(const RunConfig& c) {
  const DistributedConfig& flags = c.distributed;
  const auto launched = distributed::launched_by(c.environment.variables);
  require_agreement(flags, launched);
  if (launched && launched->local_world.value_or(1) > 1) {
    throw UsageError(fmt::format(
        "{} started {} processes on this node, and --multiprocessing-distributed would "
        "start one for each device in each of them; fix: omit it, or start one process "
        "per node",
        launched->by, *launched->local_world));
  }
  const bool by_launcher =
      launched && (launched->world > 1 || flags.url == kEnv) && flags.world_size != 1;
  if (by_launcher) {
    const bool names_place = flags.url != kEnv && flags.url != DistributedConfig{}.url;
    return {launched->rank, launched->world,
            names_place ? flags.url : address_of(*launched), launched->by};
  }
  if (flags.url == kEnv && flags.world_size < 0) {
    require_tasks(c);
    distributed::parse_init_method(kEnv);
  }
  NodePlace place{std::max(flags.rank, 0), std::max(flags.world_size, 1), flags.url,
                  ""};
  if (place.nodes > 1) place.node = rank_by_hand(flags);
  if (place.nodes == 1 && flags.url == DistributedConfig{}.url) place.init.clear();
  if (place.node < place.nodes) return place;
  throw std::runtime_error(
      fmt::format("--rank {0}: must be from 0 to {2} with --world-size {1}", place.node,
                  place.nodes, place.nodes - 1));
}

void separate_servers(const RunConfig& c, RankPlace& place) {
  if (mode_of(c) != train::Mode::ps || !place.is_process) return;
  const int servers = c.ps.servers, all = place.world;
  if (servers >= all) {
    throw UsageError(fmt::format(
        "--servers {} of {} process{} leaves no worker; fix: start one process more "
        "than servers, or as many as workers and servers together",
        servers, all, all == 1 ? "" : "es"));
  }
  place.world = all - servers;
  place.server_processes = servers;
  const int local = place.local_world;
  if (local == all) {
    place.local_world = place.world;
  } else if (servers % std::max(local, 1) != 0) {
    throw UsageError(fmt::format(
        "the last {} of {} processes are servers, but {} are on each machine: one "
        "would have workers and servers; fix: use a multiple of {} for --servers",
        servers, all, local, local));
  }
}

void adopt_number_of_workers(RunConfig& c) {
  if (mode_of(c) != train::Mode::ps || !ranks_are_processes(c)) return;
  const auto place = rank_of_process(c);
  if (!place || place->world <= c.ps.servers) return;  // see separate_servers
  c.device.count = place->world - c.ps.servers;
}

std::map<std::string, std::string> variables_of(const RankPlace& place) {
  return {{variable::kRank, std::to_string(place.rank)},
          {variable::kWorld, std::to_string(place.world)},
          {variable::kLocalRank, std::to_string(place.local_rank)},
          {variable::kLocalWorld, std::to_string(place.local_world)},
          {variable::kInit, place.init}};
}

bool shares_batch(const RunConfig& c, const RankPlace& place) {
  return place.group && mode_of(c) != train::Mode::model_parallel;
}

int64_t rank_batch(const RunConfig& c, const RankPlace& place) {
  const int64_t whole = c.recipe.batch_size;
  if (!shares_batch(c, place)) return whole;
  const int batch = plan::per_process_batch(static_cast<int>(whole), place.local_world);
  if (batch > 0) return batch;
  throw UsageError(fmt::format(
      "-b {}: less than one image for each of {} ranks; fix: use -b {} or more", whole,
      place.local_world, place.local_world));
}

int64_t global_batch(const RunConfig& c, const RankPlace& place) {
  return rank_batch(c, place) * (shares_batch(c, place) ? place.world : 1);
}

int64_t update_batch(const RunConfig& c, const RankPlace& place) {
  const bool alone = train::shares_memory(mode_of(c));
  return alone ? rank_batch(c, place) : global_batch(c, place);
}

void require_files_for(int ranks) {
  constexpr uint64_t kEach = 2, kOwn = 48;  // connections to the store; libraries, data
  require_open_files(kEach * static_cast<uint64_t>(ranks) + kOwn,
                     std::to_string(ranks) + " ranks");
}

}  // namespace lockstep::run

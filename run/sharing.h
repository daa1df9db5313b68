// How the ranks of a run share the model's weights, if not by DDP.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "engine/distributed/rendezvous/store.h"
#include "engine/sharing/parameter_servers.h"
#include "engine/sharing/remote_servers.h"
#include "engine/sharing/sharing.h"
#include "run/config.h"
#include "run/rank_place.h"

namespace lockstep::run {

sharing::PsOptions ps_options(const RunConfig& config);

/// Returns what creates the rank's object; empty with DDP and without ranks.
sharing::MakeSharing sharing_of(const RunConfig& config, const RankPlace& place);

/// Returns the model that all `world` ranks of this process train; null in modes in
/// which each trains its own.
std::shared_ptr<sharing::SharedModel> shared_model_of(const RunConfig& config,
                                                      int world);

/// The same for a rank that is a process: its view of the model that all ranks train.
std::shared_ptr<sharing::SharedModel> shared_model_of(
    const RunConfig& config, const RankPlace& place,
    const std::shared_ptr<distributed::Store>& store, Milliseconds timeout);

/// Returns whether all ranks make each step together. Otherwise each rank has its own
/// pace, and they meet only where recording begins and ends.
bool steps_together(const RunConfig& config);

/// Returns the devices of parameter servers: those after the workers'. Empty unless
/// the mode is ps with servers in the process of the workers.
parallel::Devices server_devices(const RunConfig& config);

/// Returns ", 2 servers (cpu:4, cpu:5), ssp, staleness 1, rank 2 3x slow" of a run with
/// 4 workers; "" unless the mode is ps.
std::string describe_servers(const RunConfig& config, int workers);
/// Returns the servers, which all workers share; null unless the mode is ps.
std::shared_ptr<sharing::ParameterServers> make_servers(const RunConfig& config);

/// The same for a worker that is a process, whose servers are processes, too; null
/// unless the mode is ps. `require_all`: see engine/sharing/server_mail.h.
std::shared_ptr<sharing::RemoteServers> remote_servers(
    const RunConfig& config, const RankPlace& place,
    const sharing::RequireAll& require_all);

/// Returns the rank of --slow-rank, and how many times as long it takes; nullopt if
/// there is none. Throws UsageError if the flag is not RANK:FACTORx.
std::optional<std::pair<int, double>> slow_rank_of(const RunConfig& config);

}  // namespace lockstep::run

#include "run/sharing.h"

#include <fmt/format.h>

#include <cstdio>

#include "engine/sharing/local_sgd.h"
#include "engine/sharing/ps_worker.h"
#include "engine/sharing/shared_worker.h"
#include "run/devices.h"
#include "run/shared_mapping.h"
#include "run/words.h"

namespace lockstep::run {

sharing::PsOptions ps_options(const RunConfig& c) {
  return {c.ps.consistency, c.ps.staleness, c.ps.backup};
}

namespace {

sharing::MakeSharing make_ps_worker(const RunConfig& c, const RankPlace& place) {
  const auto slow = slow_rank_of(c);
  const double slowness = slow && slow->first == place.rank ? slow->second : 1;
  return [servers = place.servers, worker = place.rank, slowness](nn::Module& model) {
    return std::make_unique<sharing::PsWorker>(model, servers, worker, slowness);
  };
}

}  // namespace

sharing::MakeSharing sharing_of(const RunConfig& c, const RankPlace& place) {
  if (const auto shared = place.shared) {
    const bool locks = mode_of(c) == train::Mode::locked;
    const auto lock = locks ? c.shared.lock : sharing::LockFor::nothing;
    return [=, rank = place.rank](nn::Module& model) {
      return std::make_unique<sharing::SharedWorker>(model, shared, rank, lock);
    };
  }
  if (mode_of(c) == train::Mode::ps) return make_ps_worker(c, place);
  if (mode_of(c) != train::Mode::local_sgd) return {};
  const sharing::LocalSgdOptions options{c.local_sgd.steps, c.local_sgd.warmup};
  if (options.period == 1 && place.main()) {  // PyTorch warns, too
    std::fputs(
        "lockstep: --local-steps 1 averages the weights after every step, which costs "
        "as much communication as DistributedDataParallel; fix: use --mode ddp\n",
        stderr);
  }
  return [options, group = place.group](nn::Module& model) {
    return std::make_unique<sharing::LocalSgd>(model, group, options);
  };
}

std::shared_ptr<sharing::SharedModel> shared_model_of(const RunConfig& c, int world) {
  if (!train::shares_memory(mode_of(c))) return nullptr;
  return std::make_shared<sharing::SharedModel>(c.shared.update, world);
}

std::shared_ptr<sharing::SharedModel> shared_model_of(
    const RunConfig& c, const RankPlace& place,
    const std::shared_ptr<distributed::Store>& store, Milliseconds timeout) {
  if (!train::shares_memory(mode_of(c))) return nullptr;
  return std::make_shared<sharing::SharedModel>(
      c.shared.update, place.world,
      sharing::WorkerProcess{place.rank, timeout,
                             among_processes(store, place, timeout)});
}

bool steps_together(const RunConfig& c) {
  return mode_of(c) != train::Mode::ps || sharing::steps_together(ps_options(c));
}

parallel::Devices server_devices(const RunConfig& c) {
  parallel::Devices devices;
  if (mode_of(c) != train::Mode::ps || ranks_are_processes(c)) return devices;
  const int first = static_cast<int>(devices_of(c).size());
  for (int k = 0; k < c.ps.servers; ++k) devices.push_back({c.device.type, first + k});
  return devices;
}

std::string describe_servers(const RunConfig& c, int workers) {
  if (mode_of(c) != train::Mode::ps) return "";
  const int servers = c.ps.servers;
  std::string where = Device{c.device.type, workers}.str();
  if (servers > 1) {
    where += (servers > 2 ? " to " : ", ") +
             Device{c.device.type, workers + servers - 1}.str();
  }
  std::string text =
      fmt::format(", {} server{} ({}), {}", servers, servers == 1 ? "" : "s", where,
                  word(c.ps.consistency));
  if (c.ps.consistency == sharing::Consistency::ssp) {
    text += fmt::format(", staleness {}", c.ps.staleness);
  }
  if (c.ps.backup > 0) text += fmt::format(", backup {}", c.ps.backup);
  if (const auto slow = slow_rank_of(c)) {
    text += fmt::format(", rank {} {}x slow", slow->first, slow->second);
  }
  return text;
}

std::shared_ptr<sharing::ParameterServers> make_servers(const RunConfig& c) {
  const parallel::Devices devices = server_devices(c);
  if (devices.empty()) return nullptr;
  return std::make_shared<sharing::ParameterServers>(
      devices, static_cast<int>(devices_of(c).size()), ps_options(c));
}

std::shared_ptr<sharing::RemoteServers> remote_servers(
    const RunConfig& c, const RankPlace& place,
    const sharing::RequireAll& require_all) {
  if (mode_of(c) != train::Mode::ps) return nullptr;
  return std::make_shared<sharing::RemoteServers>(
      place.store, place.links, place.server_processes, ps_options(c), require_all);
}

std::optional<std::pair<int, double>> slow_rank_of(const RunConfig& c) {
  if (c.ps.slow_rank.empty()) return std::nullopt;
  int rank = 0, length = 0;
  double factor = 0;
  const char* text = c.ps.slow_rank.c_str();
  const bool read = std::sscanf(text, "%d:%lfx%n", &rank, &factor, &length) == 2 &&
                    length > 0 && text[length] == '\0';
  if (!read || rank < 0 || !(factor >= 1 && factor <= 1000)) {
    throw UsageError(
        "--slow-rank must be RANK:FACTORx with a factor from 1 to 1000, "
        "such as 2:3x, not '" +
        c.ps.slow_rank + "'");
  }
  return std::pair(rank, factor);
}

}  // namespace lockstep::run

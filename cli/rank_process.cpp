#include "cli/rank_process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/rank_threads.h"
#include "cli/train_command.h"
#include "engine/distributed/make_communicator.h"
#include "engine/distributed/monitor.h"
#include "engine/distributed/store/init_method.h"
#include "engine/distributed/store/prefix_store.h"
#include "tracer/format/merge.h"
#include "tracer/record/recorder.h"

namespace lockstep::cli {
namespace {

using distributed::Milliseconds;

/// How long rank 0 keeps the store after a failure, for the others to read it.
constexpr Milliseconds kTimeToRead{1000};

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::atoi(text) : otherwise;
}

/// `run.json` → `run.rank1.json`
std::string rank_file(const std::string& path, int rank) {
  const size_t folder = path.find_last_of('/') + 1;
  size_t dot = path.find(".json", folder);
  if (dot == path.npos) dot = path.size();
  return path.substr(0, dot) + ".rank" + std::to_string(rank) + path.substr(dot);
}

/// Rank 0 joins the ranks' files, if they are all here, into the one that was asked
/// for.
void merge_rank_files(const RunOptions& o, int world, distributed::Store& store,
                      Milliseconds timeout) {
  std::vector<tracer::Trace> traces;
  std::vector<std::string> files;
  for (int rank = 0; rank < world; ++rank) {
    store.get("trace/" + std::to_string(rank), timeout);
    files.push_back(rank_file(o.trace, rank));
    if (!std::filesystem::exists(files.back())) {
      std::fprintf(stderr,
                   "lockstep: %s is not on this machine; bring all ranks' files "
                   "together and run `trace merge FILE… -o %s`\n",
                   files.back().c_str(), o.trace.c_str());
      return;
    }
    traces.push_back(tracer::read_trace(files.back()));
  }
  tracer::write_trace(tracer::merge_traces(std::move(traces), files), o.trace);
  for (const std::string& file : files) std::filesystem::remove(file);
  if (!o.quiet) {
    std::printf("=> trace written: %s (%d ranks)\n", o.trace.c_str(), world);
  }
}

/// The moment from which the ranks of one machine count time.
int64_t common_origin(distributed::Store& store, int rank, Milliseconds timeout) {
  if (rank == 0) store.set("origin", std::to_string(tracer::now_ns()));
  return std::atoll(store.get("origin", timeout).c_str());
}

parallel::Devices all_devices(const RunOptions& o, int world) {
  parallel::Devices devices;
  for (int rank = 0; rank < world; ++rank) devices.push_back({device_type(o), rank});
  return devices;
}

}  // namespace

std::optional<ProcessRank> process_rank(const RunOptions& o) {
  ProcessRank place;
  if (std::getenv("LOCKSTEP_RANK")) {  // started by spawn_ranks
    place.rank = number_of("LOCKSTEP_RANK", 0);
    place.world = number_of("LOCKSTEP_WORLD", 1);
    place.local_rank = number_of("LOCKSTEP_LOCAL_RANK", 0);
    place.local_world = number_of("LOCKSTEP_LOCAL_WORLD", 1);
    place.init = std::getenv("LOCKSTEP_INIT");
    return place;
  }
  const bool env = o.dist_url == "env://" && o.world_size < 0;
  if (o.multiprocessing_distributed || (o.world_size <= 1 && !env)) return {};
  place.rank = env ? number_of("RANK", 0) : std::max(o.rank, 0);
  place.world = env ? number_of("WORLD_SIZE", 1) : o.world_size;
  place.local_rank = number_of("LOCAL_RANK", 0);
  place.init = o.dist_url;
  return place;
}

int train_in_process(const RunOptions& given, const ProcessRank& place) {
  RunOptions o = given;
  const auto timeout = Milliseconds(static_cast<int64_t>(o.timeout * 1000));
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // no orphan when the one who started us dies
  tracer::set_rank(place.rank);
  tracer::claim_device(place.rank, place.rank);

  const auto init = distributed::parse_init_method(place.init, place.rank, place.world);
  const auto store = distributed::make_store(init, place.rank, place.world, timeout);
  tracer::set_origin(common_origin(*store, place.rank, timeout));
  RankPlace rank{place.rank, place.world, nullptr, true};
  rank.group =
      std::make_shared<distributed::ProcessGroup>(distributed::make_communicator(
          {o.dist_backend, store, init.host, place.rank, place.world, timeout}));
  distributed::Monitor* watching = nullptr;
  const auto end_with = [&](const std::string& message) {
    std::fprintf(stderr, "lockstep: rank %d: %s\n", place.rank, message.c_str());
    if (watching && watching->store_answers()) {
      store->leave();
      store->linger(kTimeToRead);
    }
    std::_Exit(1);  // other threads may still wait for what never comes
  };
  distributed::Monitor monitor(store, *rank.group, timeout, end_with);
  watching = &monitor;

  const std::string trace = o.trace;
  if (!trace.empty()) o.trace = rank_file(trace, place.rank);
  if (place.rank != 0) o.summary.clear(), o.save.clear(), o.quiet = true;
  int code = 0;
  try {
    const DataSets data = open_data(o);
    configure(o);
    if (!o.quiet) say_what_runs(o, data, all_devices(o, place.world));
    code = train_rank(o, data, rank, {}, nullptr);
    store->set("trace/" + std::to_string(place.rank), "written");
    if (!trace.empty() && place.rank == 0) {
      o.trace = trace;
      merge_rank_files(o, place.world, *store, timeout);
    }
  } catch (const std::exception& error) {
    std::fflush(stdout);
    end_with(monitor.explain(error.what()));
  }
  store->leave();
  store->linger(timeout);
  return code;
}

}  // namespace lockstep::cli

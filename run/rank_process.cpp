#include "run/rank_process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "engine/distributed/collectives/make_communicator.h"
#include "engine/distributed/rendezvous/init_method.h"
#include "engine/distributed/rendezvous/monitor.h"
#include "engine/train/trainer.h"
#include "run/rank_agreement.h"
#include "run/train.h"
#include "run/words.h"
#include "tracer/format/merge.h"
#include "tracer/record/recorder.h"

namespace lockstep::run {
namespace {

/// How long rank 0 keeps the store after a failure, so that the others can read it.
constexpr Milliseconds kTimeToRead{1000};

/// `run.json` → `run.rank1.json`
std::string rank_file(const std::string& path, int rank) {
  const size_t folder = path.find_last_of('/') + 1;
  size_t dot = path.find(".json", folder);
  if (dot == path.npos) dot = path.size();
  return path.substr(0, dot) + ".rank" + std::to_string(rank) + path.substr(dot);
}

/// Rank 0 joins the ranks' files, if they are all here, into the one that was asked
/// for.
void merge_rank_files(const RunConfig& c, int world, distributed::Store& store,
                      Milliseconds timeout) {
  std::vector<tracer::Trace> traces;
  std::vector<std::string> files;
  for (int rank = 0; rank < world; ++rank) {
    store.get("trace/" + std::to_string(rank), timeout);
    files.push_back(rank_file(c.output.trace, rank));
    if (!std::filesystem::exists(files.back())) {
      std::fprintf(stderr,
                   "lockstep: %s is not on this machine; bring all ranks' files "
                   "together and run `trace merge FILE… -o %s`\n",
                   files.back().c_str(), c.output.trace.c_str());
      return;
    }
    traces.push_back(tracer::read_trace(files.back()));
  }
  tracer::write_trace(tracer::merge_traces(std::move(traces), files), c.output.trace);
  for (const std::string& file : files) std::filesystem::remove(file);
  if (!c.output.quiet) {
    std::printf("=> trace written: %s (%d ranks)\n", c.output.trace.c_str(), world);
  }
}

/// Waits until all ranks have come to the store, and have been told the same. Throws
/// naming one that has not.
void meet(distributed::Store& store, const RunConfig& c, const RankPlace& place,
          Milliseconds timeout) {
  try {
    agree(store, "ready", shared_options(c), place.rank, place.world, timeout);
  } catch (const distributed::StoreTimeout& late) {
    const std::string missing = late.keys()[0].substr(late.keys()[0].find('/') + 1);
    throw std::runtime_error(fmt::format(
        "rank {}: rank {} never came: no sign of life for {:g} s; is it started, and "
        "do all ranks name the same world size?",
        place.rank, missing, static_cast<double>(timeout.count()) / 1000));
  }
}

std::string origin_of_rank_0(distributed::Store& store, const RankPlace& place,
                             Milliseconds timeout) {
  try {
    return store.get("origin", timeout);
  } catch (const distributed::StoreTimeout&) {
    throw std::runtime_error(fmt::format(
        "rank {}: rank 0 never went on after all had met at {}: what it printed says "
        "why; if that is a file, it may be left from another run: delete it",
        place.rank, place.init));
  }
}

/// Returns the time origin of all ranks, on this machine's clock. It is exact on rank
/// 0's machine; ranks on others take the moment at which they receive it, when all are
/// waiting for it: they are late by the latency of one message.
int64_t common_origin(distributed::Store& store, const RankPlace& place,
                      Milliseconds timeout) {
  if (place.rank == 0) {
    store.set("origin", tracer::boot_id() + " " + std::to_string(tracer::now_ns()));
  }
  const std::string origin = origin_of_rank_0(store, place, timeout);
  const int64_t heard = tracer::now_ns();
  const size_t space = origin.find(' ');
  const bool same_machine = origin.substr(0, space) == tracer::boot_id();
  tracer::set_run(origin);
  return same_machine ? std::atoll(origin.c_str() + space + 1) : heard;
}

/// For the other ranks: there is no step yet that could be finished.
std::atomic<bool> waiting{true};

/// Ctrl-C reaches a rank from the terminal, and once more from spawn_ranks(), which
/// passes on signals that were sent to the parent only: together they count as one. The
/// first ends training after the running step, the second ends the program.
void on_interrupt(int, siginfo_t* info, void*) {
  static std::atomic<int> direct{0}, passed_on{0};
  train::Trainer::stop = true;
  if (waiting) std::_Exit(130);
  if (++(info->si_code == SI_QUEUE ? passed_on : direct) == 2) std::_Exit(130);
}

void handle_interrupts() {
  struct sigaction action{};
  action.sa_sigaction = on_interrupt;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
}

/// Leaves no orphan when spawn_ranks() dies.
void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGTERM); }

parallel::Devices all_devices(DeviceType type, int world) {
  parallel::Devices devices;
  for (int rank = 0; rank < world; ++rank) devices.push_back({type, rank});
  return devices;
}

}  // namespace

int train_in_process(const RunConfig& given, const RankPlace& started) {
  RunConfig c = given;
  RankPlace place = started;
  const auto timeout = Milliseconds(static_cast<int64_t>(c.distributed.timeout * 1000));
  const bool launched = c.environment.is_launched_rank();
  ::prctl(PR_SET_NAME, "lockstep");  // else `ps` calls it "exe"
  if (launched) end_with_parent();   // one that was started by hand may outlive it
  handle_interrupts();
  tracer::set_rank(place.rank);
  tracer::claim_device(place.rank, place.rank);

  const auto init = distributed::parse_init_method(place.init, place.rank, place.world);
  if (!launched && place.world > 1) {
    std::printf("=> rank %d of %d waits for the others at %s\n", place.rank,
                place.world, place.init.c_str());
  }
  const auto store = distributed::make_store(init, place.rank, place.world, timeout);
  try {
    meet(*store, c, place, timeout);
  } catch (const std::exception&) {
    store->leave();
    store->linger(kTimeToRead);
    throw;
  }
  waiting = false;
  tracer::set_origin(common_origin(*store, place, timeout));
  const bool cuda = c.device.type == DeviceType::cuda;
  const bool wants_nccl = c.distributed.backend == DistBackend::nccl;
  place.group = std::make_shared<distributed::ProcessGroup>(
      distributed::make_communicator({std::string(word(c.distributed.backend)),
                                      store,
                                      init.host,
                                      place.rank,
                                      place.world,
                                      timeout,
                                      {c.device.type, place.rank}}));
  distributed::Monitor* watching = nullptr;
  const auto end_with = [&](const std::string& message) {
    std::fprintf(stderr, "lockstep: rank %d: %s\n", place.rank, message.c_str());
    if (watching && watching->store_answers()) {
      store->leave();
      store->linger(kTimeToRead);
    }
    std::_Exit(1);  // other threads may still wait for what never comes
  };
  distributed::Monitor monitor(store, *place.group, timeout, end_with);
  watching = &monitor;

  const std::string trace = c.output.trace;
  if (!trace.empty()) {
    c.output.trace = rank_file(trace, place.rank);
    std::filesystem::remove(c.output.trace);  // an earlier run's, if it failed to merge
  }
  if (!place.main()) {
    c.output.summary.clear();
    c.output.save.clear();
    c.output.quiet = true;
  }
  int code = 0;
  try {
    if (!trace.empty() && place.main()) AtomicFile{trace};  // to be merged
    const DataSets data = open_data(c);
    agree(*store, "data",
          {{"samples to train on:", std::to_string(data.train->size())},
           {"samples to test on:", std::to_string(data.test->size())}},
          place.rank, place.world, timeout);
    configure(c);
    if (!c.output.quiet && wants_nccl && !cuda) {
      std::puts("=> nccl needs CUDA devices: the backend is ring");
    } else if (!c.output.quiet && wants_nccl &&
               place.group->communicator().algorithm() != std::string_view("nccl")) {
      std::printf("%s, through main memory\n", distributed::kNoNccl);
    }
    if (!c.output.quiet) {
      say_what_runs(c, data, all_devices(c.device.type, place.world), place);
    }
    code = train_rank(c, data, place, {}, nullptr);
    store->set("trace/" + std::to_string(place.rank), "written");
    if (!trace.empty() && place.main()) {
      c.output.trace = trace;
      merge_rank_files(c, place.world, *store, timeout);
    }
  } catch (const std::exception& error) {
    std::fflush(stdout);
    end_with(monitor.explain(error.what()));
  }
  store->leave();
  store->linger(timeout);
  return code;
}

}  // namespace lockstep::run

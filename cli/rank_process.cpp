#include "cli/rank_process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "cli/rank_agreement.h"
#include "cli/rank_threads.h"
#include "cli/train_command.h"
#include "engine/distributed/collectives/make_communicator.h"
#include "engine/distributed/rendezvous/init_method.h"
#include "engine/distributed/rendezvous/monitor.h"
#include "engine/train/trainer.h"
#include "tracer/format/merge.h"
#include "tracer/record/recorder.h"

namespace lockstep::cli {
namespace {

/// How long rank 0 keeps the store after a failure, for the others to read it.
constexpr Milliseconds kTimeToRead{1000};

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (!text || !*text) return otherwise;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, value);
  if (read.ec == std::errc() && read.ptr == end) return value;
  throw std::runtime_error(
      fmt::format("the environment variable {} is \"{}\", which is no number; fix: "
                  "give it one, or unset it",
                  variable, text));
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

/// Waits until all ranks have come to the store, and have been told the same. Throws
/// naming one that has not.
void meet(distributed::Store& store, const RunOptions& o, const ProcessRank& place,
          Milliseconds timeout) {
  try {
    agree(store, "ready", shared_options(o), place.rank, place.world, timeout);
  } catch (const distributed::StoreTimeout& late) {
    const std::string missing = late.keys()[0].substr(late.keys()[0].find('/') + 1);
    throw std::runtime_error(fmt::format(
        "rank {}: rank {} never came: no sign of life for {:g} s; is it started, and "
        "do all ranks name the same world size?",
        place.rank, missing, static_cast<double>(timeout.count()) / 1000));
  }
}

std::string origin_of_rank_0(distributed::Store& store, const ProcessRank& place,
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

/// The moment from which all ranks count time, on this machine's clock. On rank 0's
/// machine it is exact; ranks of others take the moment at which they hear of it, for
/// which all are waiting by then: they are late by the way of one message.
int64_t common_origin(distributed::Store& store, const ProcessRank& place,
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

/// For others to come: there is no step yet that could be finished.
std::atomic<bool> waiting{true};

/// Ctrl-C reaches a rank from the terminal, and once more from spawn_ranks, which
/// passes it on for those who signal only the parent: together they count as one. The
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

/// No orphan when spawn_ranks dies; but a rank that was started by hand may outlive its
/// shell.
void end_with_parent() {
  if (std::getenv("LOCKSTEP_RANK")) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
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
  if (o.multiprocessing_distributed || (o.world_size <= 1 && !env)) {
    if (std::getenv("RANK") && std::getenv("WORLD_SIZE")) {
      std::fputs(
          "lockstep: RANK and WORLD_SIZE are set, but not used: --dist-url env:// "
          "makes this process one of those ranks\n",
          stderr);
    }
    return {};
  }
  place.rank = env ? number_of("RANK", 0) : std::max(o.rank, 0);
  place.world = env ? number_of("WORLD_SIZE", 1) : o.world_size;
  place.local_rank = number_of("LOCAL_RANK", 0);
  place.init = o.dist_url;
  return place;
}

int train_in_process(const RunOptions& given, const ProcessRank& place) {
  RunOptions o = given;
  const auto timeout = Milliseconds(static_cast<int64_t>(o.timeout * 1000));
  ::prctl(PR_SET_NAME, "lockstep");  // else `ps` calls it "exe"
  end_with_parent();
  handle_interrupts();
  tracer::set_rank(place.rank);
  tracer::claim_device(place.rank, place.rank);

  const auto init = distributed::parse_init_method(place.init, place.rank, place.world);
  if (!std::getenv("LOCKSTEP_RANK") && place.world > 1) {
    std::printf("=> rank %d of %d waits for the others at %s\n", place.rank,
                place.world, place.init.c_str());
  }
  const auto store = distributed::make_store(init, place.rank, place.world, timeout);
  try {
    meet(*store, o, place, timeout);
  } catch (const std::exception&) {
    store->leave();
    store->linger(kTimeToRead);
    throw;
  }
  waiting = false;
  tracer::set_origin(common_origin(*store, place, timeout));
  RankPlace rank{place.rank, place.world, nullptr, true, place.local_world};
  rank.group = std::make_shared<distributed::ProcessGroup>(
      distributed::make_communicator({o.dist_backend,
                                      store,
                                      init.host,
                                      place.rank,
                                      place.world,
                                      timeout,
                                      {device_type(o), place.rank}}));
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
  if (!trace.empty()) {
    o.trace = rank_file(trace, place.rank);
    std::filesystem::remove(o.trace);  // an earlier run's, if it failed to merge
  }
  if (place.rank != 0) o.summary.clear(), o.save.clear(), o.quiet = true;
  int code = 0;
  try {
    if (!trace.empty() && place.rank == 0) AtomicFile{trace};  // to be merged
    const DataSets data = open_data(o);
    agree(*store, "data",
          {{"samples to train on:", std::to_string(data.train->size())},
           {"samples to test on:", std::to_string(data.test->size())}},
          place.rank, place.world, timeout);
    configure(o);
    if (!o.quiet && o.dist_backend == "nccl" && device_type(o) != DeviceType::cuda) {
      std::puts("=> nccl needs CUDA devices: the backend is ring");
    } else if (!o.quiet && o.dist_backend == "nccl" &&
               rank.group->communicator().algorithm() != std::string_view("nccl")) {
      std::printf("%s, through main memory\n", distributed::kNoNccl);
    }
    if (!o.quiet) say_what_runs(o, data, all_devices(o, place.world), rank);
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

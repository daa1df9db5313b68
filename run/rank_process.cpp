#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "base/limits.h"
#include "engine/backends/load_cuda.h"
#include "engine/distributed/collectives/make_communicator.h"
#include "engine/distributed/rendezvous/init_method.h"
#include "engine/distributed/rendezvous/monitor.h"
#include "engine/sharing/death_watch.h"
#include "engine/train/trainer.h"
#include "run/data_fingerprint.h"
#include "run/pipeline.h"
#include "run/printable.h"
#include "run/process_hooks.h"
#include "run/rank_agreement.h"
#include "run/rank_files.h"
#include "run/recording.h"
#include "run/sharing.h"
#include "run/train.h"
#include "run/words.h"
#include "tracer/record/journal.h"
#include "tracer/record/recorder.h"
#include "tracer/record/traceback.h"

namespace lockstep::run {
namespace {

/// How long rank 0 keeps the store open after a failure for the other ranks to read.
constexpr Milliseconds kTimeToRead{1000};

/// How long a rank, which may be in the middle of a step, has to end by itself after
/// another has died.
constexpr Milliseconds kTimeToNotice{200};

/// Prints why this rank ends, and the file that it leaves if it has no time to write
/// its trace.
void say_why(int rank, const std::string& message) {
  std::fprintf(stderr, "lockstep: rank %d: %s\n", rank,
               printable(shortened(message)).c_str());
  const std::string journal = tracer::open_journal_file();
  if (journal.empty()) return;
  std::fprintf(stderr, "lockstep: what rank %d recorded is in %s\n", rank,
               printable(journal).c_str());
}

/// Waits until all ranks have reached the store with equal options. Throws an error
/// naming the ranks that have not.
void meet(distributed::Store& store, const RunConfig& c, const RankPlace& place,
          Milliseconds timeout) {
  try {
    Facts facts = shared_options(c);
    facts.emplace_back("ranks on its node:", std::to_string(place.local_world));
    agree(store, "ready", facts, place.rank, place.processes(), timeout);
  } catch (const distributed::StoreTimeout& late) {
    const std::string refusal = store.refusal();
    throw std::runtime_error(fmt::format(
        "rank {}: {} did not join within {:g} s; {}", place.rank, ranks_in(late.keys()),
        static_cast<double>(late.timeout().count()) / 1000,
        refusal.empty() ? "fix: start all ranks within --rdzv-timeout, "
                          "with the same world size"
                        : refusal));
  }
}

std::string origin_of_rank_0(distributed::Store& store, const RankPlace& place,
                             Milliseconds timeout) {
  try {
    return store.get("origin", timeout);
  } catch (const distributed::StoreTimeout&) {
    throw std::runtime_error(
        fmt::format("rank {}: rank 0 stopped after the rendezvous at {}; fix: see its "
                    "output, or delete the rendezvous file if another run left it",
                    place.rank, place.init));
  }
}

/// Names the run, the same for all ranks, and returns the moment that all ranks use as
/// their origin of time, on rank 0's clock. If no --seed was given, all ranks also
/// adopt the seed that rank 0 has drawn.
int64_t name_run(distributed::Store& store, RunConfig& c, const RankPlace& place,
                 Milliseconds timeout) {
  if (place.rank == 0) {
    store.set("origin", fmt::format("{} {} {}", tracer::boot_id(), tracer::now_ns(),
                                    c.recipe.seed));
  }
  const std::string origin = origin_of_rank_0(store, place, timeout);
  tracer::set_run(origin);
  if (c.draws_seed) {
    c.recipe.seed = std::strtoull(origin.c_str() + origin.rfind(' '), nullptr, 10);
  }
  return std::atoll(origin.c_str() + origin.find(' ') + 1);
}

/// Finds out which ranks share this machine, at which address the others reach it, and
/// by how much its clock differs from rank 0's.
void meet_machines(distributed::Store& store, const RunConfig& c, RankPlace& place,
                   int64_t origin) {
  const std::string asked = c.distributed.ifname.empty()
                                ? c.environment.text(variable::kInterface)
                                : c.distributed.ifname;
  const auto neighbours =
      distributed::meet_neighbours(store, place.rank, place.processes(), asked);
  place.neighbours = std::make_shared<distributed::Neighbours>(neighbours);
  if (place.local_rank < 0) place.local_rank = neighbours.local_rank(place.rank);
  try {
    place.clock =
        std::make_shared<distributed::RankClock>(store, place.rank, neighbours.address);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format(
        "rank {}, at {}: cannot reach rank 0's machine: {}; fix: choose the "
        "network with --ifname",
        place.rank, neighbours.address, error.what()));
  }
  const auto& samples = place.clock->samples();
  tracer::set_origin(samples.empty() ? origin : origin - samples[0].offset_ns);
}

/// Whether this rank is waiting for the others: there is no step yet to complete.
std::atomic<bool> waiting{true};

/// Handles SIGINT and SIGTERM: stops training after the current step. A rank receives
/// Ctrl-C from the terminal, and again from spawn_ranks(), which forwards signals that
/// were sent to the parent only: the two count as one. The second Ctrl-C ends the
/// program at once; a second SIGTERM does not, since batch systems repeat it.
void on_interrupt(int signal, siginfo_t* info, void*) {
  static std::atomic<int> direct{0}, passed_on{0};
  train::Trainer::stop_signal = signal;
  train::Trainer::stop = true;
  if (waiting) std::_Exit(128 + signal);
  if (signal == SIGTERM) return;
  if (++(info->si_code == SI_QUEUE ? passed_on : direct) == 2) std::_Exit(130);
}

void handle_interrupts() {
  struct sigaction action{};
  action.sa_sigaction = on_interrupt;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  // One that came before has only been noted, and the others may have ended by it.
  if (train::Trainer::stop) std::_Exit(128 + train::Trainer::stop_signal);
}

/// Sets the process name, the signal handlers and the lanes of this rank.
void become_rank(const RunConfig& c, const RankPlace& place) {
  ::prctl(PR_SET_NAME, "lockstep");        // otherwise `ps` shows "exe"
  if (c.environment.is_launched_rank()) {  // one started manually may outlive its shell
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);    // no orphans if spawn_ranks() dies
  }
  handle_interrupts();
  tracer::set_rank(place.rank);
  tracer::claim_device(place.rank, place.rank);
}

/// Returns what was detected: ` (Slurm: local rank 1 of 2)`; empty by hand.
std::string launched_text(const RankPlace& place) {
  if (place.launcher.empty()) return "";
  if (place.local_rank < 0) return fmt::format(" ({})", place.launcher);
  return fmt::format(" ({}: local rank {} of {})", place.launcher, place.local_rank,
                     place.local_world);
}

/// A file is protected by its permissions; ranks of one machine by their address.
void advise_a_secret(const RunConfig& c, const RankPlace& place,
                     const distributed::InitMethod& init) {
  const bool is_file = init.kind == distributed::InitMethod::Kind::file;
  const int machines = place.neighbours->machines();
  const bool trusts_all = machines > 1 && !is_file && init.credentials.secret.empty();
  if (!place.main() || c.output.quiet || !trusts_all) return;
  fmt::print(
      "=> note: no secret for {} machines: any program that reaches rank 0 can "
      "take part; fix: set {} on all of them\n",
      machines, distributed::kSecretFileVariable);
}

/// Waits for all ranks, and for their common time origin and seed.
std::shared_ptr<distributed::Store> meet_at_store(RunConfig& c, RankPlace& place,
                                                  const distributed::InitMethod& init,
                                                  Milliseconds timeout) {
  const bool by_environment = init.kind == distributed::InitMethod::Kind::env;
  const bool speaks_for_node = place.local_rank == 0 && place.world > place.local_world;
  const bool speaks = !c.environment.is_launched_rank() || speaks_for_node;
  if (speaks && place.processes() > 1) {
    fmt::print("=> rank {} of {}{} is waiting for the others at {}{}\n", place.rank,
               place.processes(), launched_text(place), place.init,
               by_environment ? fmt::format(" ({}:{})", init.host, init.port) : "");
    std::fflush(stdout);
  }
  if (place.rank == 0) require_files_for(place.processes());  // it hosts the store
  auto store = distributed::make_store(init, place.rank, place.processes(), timeout);
  try {
    meet(*store, c, place, timeout);
  } catch (const std::exception&) {
    store->leave();
    store->linger(kTimeToRead);
    throw;
  }
  waiting = false;
  if (place.main()) distributed::forget_place(init);
  meet_machines(*store, c, place, name_run(*store, c, place, timeout));
  set_gpu_shift(place.local_rank - place.rank);
  advise_a_secret(c, place, init);
  return store;
}

/// Makes every rank write its own trace; only rank 0 writes the other files. Returns
/// the path of the requested trace, to be merged.
std::string take_own_files(RunConfig& c, const RankPlace& place) {
  OutputConfig& output = c.output;
  const std::string trace = output.trace;
  if (!trace.empty()) {
    output.trace = rank_file(trace, place.rank);
    std::filesystem::remove(output.trace);  // left by a run that failed to merge
    std::filesystem::remove(tracer::journal_of(output.trace));
  }
  if (!place.main()) {
    output.summary.clear();
    output.save.clear();
    output.save_ema.clear();
    c.pipeline.save_schedule.clear();
    output.quiet = true;
  }
  return trace;
}

/// Makes the group of the ranks that compute gradients and, with parameter servers, the
/// one whose messages go between workers and servers.
void make_groups(const RunConfig& c, RankPlace& place, Milliseconds timeout) {
  distributed::CommunicatorOptions options{std::string(word(c.distributed.backend)),
                                           place.store,
                                           place.neighbours->address,
                                           place.rank,
                                           place.world,
                                           timeout,
                                           {c.device.type, place.rank}};
  const auto make = [](const distributed::CommunicatorOptions& options) {
    return std::make_shared<distributed::ProcessGroup>(
        distributed::make_communicator(options), options.group);
  };
  if (!place.is_server()) place.group = make(options);
  if (place.server_processes == 0) return;
  options.backend = word(DistBackend::ring);
  options.group = "servers";
  options.store =
      std::make_shared<distributed::PrefixStore>(options.group, place.store);
  options.size = place.processes();
  place.links = make(options);
  if (place.is_server()) place.group = place.links;
}

/// Prints which backend replaced nccl, and what is about to run.
void say_what_ranks_run(const RunConfig& c, const DataSets& data,
                        const RankPlace& place) {
  if (c.output.quiet) return;
  const bool cuda = c.device.type == DeviceType::cuda;
  const bool asked_for_nccl = c.distributed.backend == DistBackend::nccl;
  const std::string_view algorithm = place.group->communicator().algorithm();
  if (asked_for_nccl && !cuda) {
    std::puts("=> nccl requires CUDA devices: using ring");
  } else if (asked_for_nccl && algorithm != word(DistBackend::nccl)) {
    std::printf("%s, through main memory\n", distributed::kNoNccl);
  }
  parallel::Devices devices;
  for (int rank = 0; rank < place.world; ++rank) {
    devices.push_back({c.device.type, rank});
  }
  say_what_runs(c, data, devices, place);
}

}  // namespace

int train_in_process(const RunConfig& given, const RankPlace& started) {
  RunConfig c = given;
  RankPlace place = started;
  const auto milliseconds = [](double seconds) {
    return Milliseconds(static_cast<int64_t>(seconds * 1000));
  };
  const auto timeout = milliseconds(c.distributed.timeout);
  const auto to_start =
      milliseconds(c.distributed.rdzv_timeout.value_or(c.distributed.timeout));
  require_rank_per_device(c, place.world);
  separate_servers(c, place);
  become_rank(c, place);
  auto init = distributed::parse_init_method(place.init, place.rank, place.processes());
  init.credentials = distributed::read_credentials(c.environment.variables);
  const auto store = place.store = meet_at_store(c, place, init, to_start);
  store->set_timeout(timeout);  // a stopped rank 0 answers nobody
  make_groups(c, place, timeout);
  if (!computes(c.device.type)) {
    place.stop_notice = std::make_shared<train::StopNotice>(store);
  }
  distributed::Monitor* watching = nullptr;
  std::unique_ptr<sharing::DeathWatch> watch;
  std::atomic_flag ends;
  const auto end_with = [&](const std::string& message) {
    while (ends.test_and_set()) ::pause();  // another thread ends the process
    if (watch) watch->leave();              // this rank's message says why
    say_why(place.rank, message);
    if (watching && watching->store_answers()) {
      store->leave();
      store->linger(kTimeToRead);
    }
    std::_Exit(1);  // other threads may wait forever
  };
  const auto& whole = place.links ? place.links : place.group;
  distributed::Monitor monitor(store, *whole, timeout, end_with);
  if (place.links) monitor.also_abort(*place.group);
  const auto require_all = [&monitor] { monitor.require_all(); };
  watching = &monitor;

  const std::string trace = take_own_files(c, place);
  int code = 0;
  try {
    const DataSets data = open_data(c);
    agree_on_data(*store, data, place.rank, place.processes(), timeout);
    configure(c);
    say_what_ranks_run(c, data, place);
    place.shared = shared_model_of(c, place, store, timeout);
    if (place.shared) {
      watch = place.shared->watch([&](int dead) {
        const std::string why =
            fmt::format("rank {} died; fix: restart all ranks", dead);
        place.shared->abandon(why);
        std::this_thread::sleep_for(kTimeToNotice);
        end_with(monitor.explain(why));
      });
    }
    const auto servers =
        place.is_server() ? nullptr : remote_servers(c, place, require_all);
    place.servers = servers;
    const auto all_left = [&monitor] { monitor.let_ranks_end(); };
    if (place.is_server()) {
      code = serve(c, data, place, require_all, all_left);
    } else {
      RecordingHooks hooks = servers ? process_hooks(c, data, place, servers)
                                     : process_hooks(c, data, place);
      hooks.ended = [all_left, ended = hooks.ended] {
        ended();
        all_left();
      };
      code = train_rank(c, data, place, hooks, nullptr);
    }
    if (servers && place.main()) servers->close();
    watch.reset();
    tell_of_trace(*store, c.output.trace, place.rank);
    if (!trace.empty() && place.main()) {
      c.output.trace = trace;
      merge_rank_files(c, place.processes(), *store, timeout);
    }
    if (place.main()) tell_of_files(*store);
    if (!place.main() && code != 0) wait_for_files(*store);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    const std::string calls = tracer::traceback_text(tracer::take_traceback());
    std::fputs(printable(calls).c_str(), stderr);
    end_with(monitor.explain(with_limits(error)));
  }
  store->leave();
  store->linger(timeout);
  return code;
}

}  // namespace lockstep::run

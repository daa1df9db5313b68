#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/limits.h"
#include "engine/backends/backend.h"
#include "engine/distributed/collectives/local_transport.h"
#include "engine/distributed/collectives/make_communicator.h"
#include "engine/distributed/collectives/ring.h"
#include "engine/distributed/rendezvous/store.h"
#include "engine/nn/init.h"
#include "run/devices.h"
#include "run/printable.h"
#include "run/recording.h"
#include "run/sharing.h"
#include "run/train.h"
#include "tracer/record/journal.h"
#include "tracer/record/traceback.h"

namespace lockstep::run {
namespace {

/// A barrier between steps, so that one rank can switch the recorder on or off while no
/// other rank is recording. If a rank fails, the others cannot know that it records
/// nothing: pass() then throws, also in ranks that wait already. A rank that makes no
/// more steps leaves.
class Gate {
 public:
  explicit Gate(int ranks) : ranks_(ranks) {}

  void pass() {
    std::unique_lock lock(mutex_);
    const int64_t round = round_;
    ++waiting_;
    release_if_complete();
    changed_.wait(lock, [&] { return failed_ || round_ != round; });
    require_all();
  }
  /// Like `pass`, but does not wait for the other ranks after Ctrl-C, which some of
  /// them may have seen before they came here. Returns false if it did not wait.
  bool pass_unless_stopped() {
    using namespace std::chrono_literals;
    std::unique_lock lock(mutex_);
    const int64_t round = round_;
    ++waiting_;
    release_if_complete();
    const auto passed = [&] { return failed_ || round_ != round; };
    while (!changed_.wait_for(lock, 50ms, passed)) {
      if (!train::Trainer::stop) continue;
      --waiting_;
      return false;
    }
    require_all();
    return true;
  }
  void leave() {
    std::lock_guard lock(mutex_);
    --ranks_;
    release_if_complete();
    changed_.notify_all();
  }
  void wait_until_all_left() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || ranks_ == 0; });
    require_all();
  }
  void fail() {
    std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  void require_all() const {
    if (failed_) throw std::runtime_error("another rank failed");
  }
  void release_if_complete() {
    if (waiting_ == 0 || waiting_ < ranks_) return;
    waiting_ = 0;
    ++round_;
    changed_.notify_all();
  }

  int ranks_;  ///< that have not left
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  int64_t round_ = 0;
  bool failed_ = false;
};

/// What a rank tells the others while it waits at a gate.
struct Pause {
  std::shared_ptr<sharing::ParameterServers> servers;  ///< null: nothing
  int worker = 0;
  void begin() const {
    if (servers) servers->pause(worker);
  }
  void end() const {
    if (servers) servers->resume(worker);
  }
};

/// Wraps `hook` so that all ranks pass `gate` before and after it, if `meets(…)`.
template <typename... Args, typename Meets>
std::function<void(Args...)> gated(Gate& gate, std::function<void(Args...)> hook,
                                   Pause pause, Meets meets) {
  return [&gate, hook, pause, meets](Args... args) {
    const bool all = meets(args...);
    if (all) {
      pause.begin();
      gate.pass();
    }
    if (hook) hook(args...);
    if (all) {
      gate.pass();
      pause.end();
    }
  };
}

/// Wraps the trainer's hooks so that ranks at their own pace meet only where the trace
/// begins and ends: before the step `first` and after the step before `last`.
void meet_at_ends(Gate& gate, train::Trainer& trainer, int64_t first, int64_t last) {
  trainer.before_step = [&gate, first, hook = trainer.before_step](int64_t step) {
    if (step == first) {
      if (!gate.pass_unless_stopped()) return;
      if (hook) hook(step);
      gate.pass();
    } else if (step > first && hook) {
      hook(step);
    }
  };
  trainer.after_step = [&gate, last,
                        hook = trainer.after_step](const train::StepResult& result) {
    const bool ends = result.step + 1 == last;
    if (ends && !gate.pass_unless_stopped()) return;
    if (hook) hook(result);
    if (ends) gate.pass();
  };
}

/// Uses NCCL if every rank has its own GPU, otherwise a ring in memory.
std::unique_ptr<distributed::Communicator> communicator(
    const RunConfig& c, Device device,
    const std::shared_ptr<distributed::LocalHub>& hub,
    const std::shared_ptr<distributed::Store>& store, int rank, Milliseconds timeout) {
  if (c.distributed.backend == DistBackend::nccl) {
    auto nccl =
        distributed::try_nccl({"nccl", store, "", rank, hub->size(), timeout, device});
    const bool measures =
        backend_options().benchmark && !backend_options().deterministic;
    if (nccl && measures && hub->size() > 1) {
      // cuDNN measures in its own memory; freeing that waits for the GPU, hence for
      // NCCL, which waits for a rank that is waiting for its turn to measure.
      throw std::runtime_error(
          "--benchmark would deadlock with NCCL between threads; fix: omit "
          "--benchmark, or use --multiprocessing-distributed or --dist-backend ring");
    }
    if (nccl) return nccl;
    if (rank == 0 && !c.output.quiet && device.type == DeviceType::cuda) {
      std::puts(distributed::kNoNccl);
    }
  }
  auto transport = std::make_unique<distributed::LocalTransport>(hub, rank, timeout);
  return std::make_unique<distributed::Ring>(std::move(transport), rank, hub->size(),
                                             "default");
}

/// The ranks' groups. A failed rank aborts them all: NCCL's abort ends the collectives
/// of one rank, and the others' wait for them.
class Groups {
 public:
  using GroupPtr = std::shared_ptr<distributed::ProcessGroup>;

  void add(GroupPtr group) {
    std::lock_guard lock(mutex_);
    if (!failure_.empty()) group->communicator().abort(failure_);
    groups_.push_back(std::move(group));
  }
  void abort(const std::string& why) {
    std::lock_guard lock(mutex_);
    failure_ = why;
    std::vector<std::jthread> aborts;  // at once: each may wait for the others
    for (const GroupPtr& group : groups_) {
      const auto abort = [&group, &why] { group->communicator().abort(why); };
      try {
        aborts.emplace_back(abort);
      } catch (const std::system_error&) {  // no more threads
        abort();
      }
    }
  }

 private:
  std::mutex mutex_;
  std::string failure_;
  std::vector<GroupPtr> groups_;
};

/// The first error of a rank.
class FirstFailure {
 public:
  /// Keeps the exception that is being handled, if it is the first.
  void keep(int rank) {
    std::lock_guard lock(mutex_);
    if (error_) return;
    error_ = std::current_exception();
    traceback_ = tracer::take_traceback();
    rank_ = rank;
  }
  /// Closes the journal, if there is one, and prints where it is.
  void keep_journal() const {
    const std::string journal = tracer::open_journal_file();
    if (!error_ || journal.empty()) return;
    tracer::close_journal();
    fmt::print(stderr, "lockstep: what was recorded is in {}\n", printable(journal));
  }
  /// Throws it, if there is one. Names the rank if the model failed on it; other errors
  /// concern all ranks alike.
  void rethrow() {
    if (!error_) return;
    if (traceback_.frames.empty()) std::rethrow_exception(error_);
    const std::string name = "rank " + std::to_string(rank_);
    tracer::continue_traceback(std::move(traceback_), "the thread of " + name);
    try {
      std::rethrow_exception(error_);
    } catch (const std::exception& failure) {
      throw std::runtime_error(name + ": " + with_limits(failure));
    }
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  tracer::Traceback traceback_;
  int rank_ = 0;
};

/// After the ranks have ended. What the process records next is of rank 0.
void end_recording(const FirstFailure& failure, int world) {
  failure.keep_journal();
  for (int rank = 0; rank < world; ++rank) tracer::claim_device(rank, 0);
}

}  // namespace

int train_in_threads(const RunConfig& c, const DataSets& data, tracer::Trace* trace) {
  const int world = static_cast<int>(devices_of(c).size());
  const auto timeout = Milliseconds(static_cast<int64_t>(c.distributed.timeout * 1000));
  const auto hub = std::make_shared<distributed::LocalHub>(world);
  const auto store = std::make_shared<distributed::HashStore>(timeout);
  std::shared_ptr<train::StopNotice> stop_notice;
  if (!computes(c.device.type)) {
    stop_notice = std::make_shared<train::StopNotice>(store);
  }
  const nn::Construction construction = nn::construction();
  const bool gates = !c.output.trace.empty() || !c.output.summary.empty() || trace;
  const auto shared = shared_model_of(c, world);
  const auto servers = make_servers(c);
  for (const Device device : server_devices(c)) {
    tracer::claim_device(device.index, device.index);
  }
  Gate gate(world);
  Groups groups;
  FirstFailure failure;
  int code = 0;
  const auto fail = [&](const std::exception& error, int rank) {
    failure.keep(rank);
    gate.fail();
    const std::string why = "rank " + std::to_string(rank) + " failed: " + error.what();
    if (shared) shared->abandon(why);
    if (servers) servers->abort(why);
    groups.abort(why);
  };

  const auto run = [&](int rank) {
    tracer::set_rank(rank);
    tracer::claim_device(rank, rank);
    tracer::name_host_thread("main");
    nn::construction() = construction;
    RankPlace place{rank, world, rank, world};
    place.shared = shared;
    place.servers = servers;
    place.stop_notice = stop_notice;
    RecordingHooks hooks;
    hooks.records = rank == 0;
    hooks.around = [&](train::Trainer& trainer) {
      if (shared && !c.output.trace.empty()) {
        const auto [first, last] =
            Recording::traced_steps(c, planned_steps(c, data, place));
        return meet_at_ends(gate, trainer, first, last);
      }
      if (!gates || shared) return;
      const auto bounds = recording_boundaries(c, planned_steps(c, data, place));
      const auto meets = [bounds, all = steps_together(c)](int64_t step) {
        return all || bounds(step);
      };
      const Pause pause{steps_together(c) ? nullptr : servers, rank};
      trainer.before_step = gated<int64_t>(gate, trainer.before_step, pause, meets);
      trainer.after_step = gated<const train::StepResult&>(
          gate, trainer.after_step, pause,
          [meets](const train::StepResult& made) { return meets(made.step + 1); });
    };
    if (!shared) {
      hooks.ended = [&] {
        gate.leave();
        if (gates && rank == 0) gate.wait_until_all_left();
      };
    }
    if (shared && gates) hooks.meet = [&] { gate.pass(); };
    try {
      place.group = std::make_shared<distributed::ProcessGroup>(
          communicator(c, {c.device.type, rank}, hub, store, rank, timeout));
      groups.add(place.group);
      if (rank == 0 && !c.output.quiet) say_what_runs(c, data, devices_of(c), place);
      const int result = train_rank(c, data, place, hooks, rank == 0 ? trace : nullptr);
      if (rank == 0) code = result;
    } catch (const std::exception& error) {
      fail(error, rank);
    }
  };
  std::vector<std::thread> threads;
  try {
    for (int rank = 0; rank < world; ++rank) threads.emplace_back(run, rank);
  } catch (const std::system_error& error) {  // a limit; the others wait for the rest
    fail(error, static_cast<int>(threads.size()));
  }
  for (std::thread& thread : threads) thread.join();
  end_recording(failure, world);
  failure.rethrow();
  return code;
}

}  // namespace lockstep::run

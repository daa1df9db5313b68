// Executes a training run from its configuration to its exit code.
#pragma once

#include <functional>

#include "engine/sharing/server_mail.h"
#include "run/config.h"
#include "run/data_sets.h"
#include "tracer/format/trace.h"

namespace lockstep::run {

/// Trains as configured and returns the exit code. If `trace` is given, stores the
/// recorded trace in it (except if ranks are processes). Throws UsageError or
/// std::runtime_error.
int run_training(RunConfig config, tracer::Trace* trace = nullptr);

// Shared by ranks that are threads and ranks that are processes.

/// Sets up the devices, backends and random-number generators of this process.
void configure(const RunConfig& config);

/// Creates a model for the data, with fresh weights or those of --pretrained. Throws
/// UsageError if they do not fit.
nn::ModulePtr make_model(const RunConfig& config, const DataSets& data,
                         const RankPlace& place);

/// Returns the options of --optimizer and its flags.
optim::AnyOptions optimizer_options(const RecipeConfig& recipe);

/// Prints what is about to run, and the values chosen by default.
void say_what_runs(const RunConfig& config, const DataSets& data,
                   const parallel::Devices& devices, const RankPlace& place);

/// Options for the code around a rank's steps.
struct RecordingHooks {
  bool records = true;  ///< this rank writes trace and summary
  /// Called after the trainer's hooks have been set, to wrap them.
  std::function<void(train::Trainer&)> around = [](train::Trainer&) {};
  /// Called before and after the recording is completed, by ranks that do not make each
  /// step together.
  std::function<void()> meet = [] {};
  /// Called when the rank makes no more steps. For the rank that records, it returns
  /// when no rank does.
  std::function<void()> ended = [] {};
};

/// Serves until the workers make no more steps, as one of the parameter servers that
/// are processes (serve.cpp). Calls `all_left` when they make none. Returns the exit
/// code.
int serve(const RunConfig& config, const DataSets& data, const RankPlace& place,
          const sharing::RequireAll& require_all,
          const std::function<void()>& all_left);

/// Trains one rank to completion. Returns the exit code.
int train_rank(const RunConfig& config, const DataSets& data, const RankPlace& place,
               const RecordingHooks& hooks, tracer::Trace* trace);

// The loop over epochs (epochs.cpp): the part of the ImageNet example's main.py after
// the setup.

/// Returns the number of steps of train_epochs() or run_notebook(), including
/// evaluation.
int64_t planned_steps(const RunConfig& config, const DataSets& data,
                      const RankPlace& place);

/// Returns a line to print after an epoch (main.py prints none): images per second over
/// its `training` seconds, and the time left if every epoch, with its evaluation, takes
/// `whole` seconds.
std::string describe_epoch(int epoch, int64_t images, double training, double whole,
                           int epochs_left);

/// Trains and evaluates, starting where the checkpoint of `--resume` ends; writes
/// checkpoints (checkpoints.h). Returns false if the last one could not be written.
bool train_epochs(const RunConfig& config, train::Trainer& trainer,
                  const DataSets& data, const RankPlace& place);

/// Runs the notebook (notebook.cpp): prints what its cells print, then a forward pass
/// for each batch, with a model that prints its inputs.
void run_notebook(const RunConfig& config, train::Trainer& trainer,
                  const DataSets& data);

// DistributedDataParallel with threads of one process as ranks (rank_threads.cpp), and
// with processes as ranks (rank_process.cpp).

/// `--mode ddp`: trains one rank per thread, each on its own device. The first failure
/// of a rank ends all ranks and is rethrown. Returns rank 0's exit code.
int train_in_threads(const RunConfig& config, const DataSets& data,
                     tracer::Trace* trace);

/// Trains as one rank of several processes. Explains failures: which rank is to blame,
/// and at which collective. Returns the exit code. Throws std::runtime_error.
int train_in_process(const RunConfig& config, const RankPlace& place);

}  // namespace lockstep::run

// Executes a training run from its configuration to its exit code.
#pragma once

#include <functional>

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

/// Prints what is about to run, and the values chosen by default.
void say_what_runs(const RunConfig& config, const DataSets& data,
                   const parallel::Devices& devices, const RankPlace& place);

/// Options for the code around a rank's steps.
struct RecordingHooks {
  bool records = true;  ///< this rank writes trace and summary
  /// Called after the trainer's hooks have been set, to wrap them.
  std::function<void(train::Trainer&)> around = [](train::Trainer&) {};
};

/// Trains one rank to completion. Returns the exit code.
int train_rank(const RunConfig& config, const DataSets& data, const RankPlace& place,
               const RecordingHooks& hooks, tracer::Trace* trace);

}  // namespace lockstep::run

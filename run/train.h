// A training run, from its configuration to its exit code.
#pragma once

#include <functional>

#include "run/config.h"
#include "run/data_sets.h"
#include "tracer/format/trace.h"

namespace lockstep::run {

/// Trains as the configuration says and returns the exit code. If `trace` is given it
/// receives what was recorded (not where ranks are processes). Throws UsageError or
/// std::runtime_error.
int run_training(RunConfig config, tracer::Trace* trace = nullptr);

// What ranks as threads and as processes share.

/// Sets up devices, backends and random numbers of this process.
void configure(const RunConfig& config);

/// Prints what is about to run, and what the defaults came to.
void say_what_runs(const RunConfig& config, const DataSets& data,
                   const parallel::Devices& devices, const RankPlace& place);

/// What surrounds a rank's steps.
struct RecordingHooks {
  bool records = true;  ///< this rank writes trace and summary
  /// Called when the trainer's own hooks are set, to put more around them.
  std::function<void(train::Trainer&)> around = [](train::Trainer&) {};
};

/// Trains one rank to the end. Returns the exit code.
int train_rank(const RunConfig& config, const DataSets& data, const RankPlace& place,
               const RecordingHooks& hooks, tracer::Trace* trace);

}  // namespace lockstep::run

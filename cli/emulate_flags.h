// The flags of `lockstep emulate`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/emulate_pipeline.h"
#include "cli/emulate_sweep.h"
#include "run/calibrate.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::cli {

/// What the command line of `emulate` says.
struct EmulateCommand {
  std::string file, out, mode, against, hardware, batch_for, scoreboard;
  bool list_hardware = false;
  std::optional<double> interference;
  std::vector<std::string> further;
  bool json = false, optimise_buckets = false;
  int64_t bucket_cap_mb = 25, first_bucket_mb = 1;
  tracer::EmulateOptions options;
  tracer::ConstructedProgram program;
  std::vector<std::string> sweeps;
  SweepFiles sweep_files;
  PipelineFlags pipeline;
  run::CalibrateOptions calibrate;
};

inline constexpr const char* kSingle = "single";
inline constexpr const char* kModelParallel = "model-parallel";
inline constexpr const char* kServers = "ps";

/// Adds the flags to the command, which sets `c` when they are parsed.
void add_emulate_flags(CLI::App& command, const std::shared_ptr<EmulateCommand>& c);

}  // namespace lockstep::cli

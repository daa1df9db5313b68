// Code shared by the studies: runs of `train` whose output is stored as a log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/tensor/types.h"
#include "experiments/log.h"
#include "experiments/plot.h"
#include "experiments/text_table.h"
#include "tracer/format/trace.h"

namespace lockstep::experiments {

/// The options common to all studies.
struct StudyOptions {
  std::string data, out, arch;
  DeviceType device_type = DeviceType::cpu;
  std::string hardware;  ///< of emulated devices: see `train --hardware`
  int devices = 4, threads_per_device = 1, epochs = 1;
  std::optional<uint64_t> seed;
  bool again = false, json = false;
  std::vector<std::string> more;  ///< after `--`: extra arguments for every `train`
};

/// Returns `--seed N` for every `train`. If none is given: 0 on CPUs, and nothing on
/// GPUs, where any seed would select slower, deterministic kernels.
std::vector<std::string> seed_words(const StudyOptions& options);

/// One run: `out`/`name`.log receives the output of `lockstep words…`, preceded by a
/// line with the command itself.
struct LoggedRun {
  std::string name;
  std::vector<std::string> words;
};

/// Runs the command, and prints it and its result. An existing log is read instead,
/// unless `again` is set; a log of a different command is an error. A log is created
/// only if its run succeeds, so an interrupted run is repeated. Returns nullopt and
/// sets `exit_code` if the run failed (it has printed the reason) or was interrupted.
std::optional<Log> run_or_read(const StudyOptions& options, const LoggedRun& run,
                               int& exit_code);

/// The results of a study.
struct Findings {
  Rows rows;
  std::vector<std::string> notes;
  tracer::Json json;
  Plot plot;
};

/// Prints the table, and writes table.md, table.json and plot.{gp,svg,png} to `out`.
/// Without gnuplot, draws no plot and prints one line saying so. Returns the exit
/// code.
int report(const StudyOptions& options, const Findings& findings);

/// Returns "4 virtual cpu devices of 1 thread each share 2 cores (CPU), 2026-01-31".
std::string machine_note(const StudyOptions& options);

/// Creates `out` and checks that `data`, if given, exists. Throws std::runtime_error
/// stating the fix.
void check_folders(const StudyOptions& options);

}  // namespace lockstep::experiments

// What the studies share: runs of `train` whose output becomes a log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/tensor/device.h"
#include "experiments/log.h"
#include "experiments/plot.h"
#include "experiments/text_table.h"
#include "tracer/format/trace.h"

namespace lockstep::experiments {

/// The options of every study.
struct StudyOptions {
  std::string data, out, arch;
  DeviceType device_type = DeviceType::cpu;
  int devices = 4, threads_per_device = 1, epochs = 1;
  uint64_t seed = 0;
  bool again = false, json = false;
  std::vector<std::string> more;  ///< after `--`: words for every train
};

/// One run: `out`/`name`.log becomes what `lockstep words…` prints, behind a first line
/// with the command itself.
struct LoggedRun {
  std::string name;
  std::vector<std::string> words;
};

/// Runs it, prints its command and its result. A log that exists is read instead,
/// unless `again`; one that another command made is an error. A log appears when its
/// run has ended well, so an interrupted run is repeated. Returns nullopt and sets
/// `exit_code` if the run failed (it has printed why) or was interrupted.
std::optional<Log> run_or_read(const StudyOptions& options, const LoggedRun& run,
                               int& exit_code);

/// What a study found.
struct Findings {
  Rows rows;
  std::vector<std::string> notes;
  tracer::Json json;
  Plot plot;
};

/// Prints the table, and writes table.md, table.json and plot.{gp,svg,png} into `out`.
/// Without gnuplot, it draws no picture and prints one line that says so. Returns the
/// exit code.
int report(const StudyOptions& options, const Findings& findings);

/// "4 virtual cpu devices of 1 thread each share 2 cores (PROCESSOR), 2026-01-31".
std::string machine_note(const StudyOptions& options);

/// Creates `out` and checks that `data`, if named, exists. Throws std::runtime_error
/// with the fix.
void check_folders(const StudyOptions& options);

}  // namespace lockstep::experiments

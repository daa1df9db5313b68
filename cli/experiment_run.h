// What the experiments share: runs of `train` whose output becomes a log.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/log.h"
#include "experiments/plot.h"
#include "experiments/text_table.h"
#include "tracer/format/trace.h"

namespace lockstep::cli {

/// The words of every experiment.
struct ExperimentOptions {
  std::string data, out, arch, device_type = "cpu";
  int devices = 4, threads_per_device = 1, epochs = 1;
  uint64_t seed = 0;
  bool again = false, json = false;
  std::vector<std::string> more;  ///< after `--`: words for every train
};

/// One run: `out`/`name`.log becomes what `lockstep words…` prints, behind a first line
/// with the command itself.
struct ExperimentRun {
  std::string name;
  std::vector<std::string> words;
};

/// Runs that one, prints its command and what came of it. A log that is there already
/// is read instead, unless `again`; one that another command made is an error. A log
/// appears when its run has ended well, so what was interrupted is repeated. nullopt
/// and `exit_code` where the run failed (it has said why) or was interrupted.
std::optional<experiments::Log> run_or_read(const ExperimentOptions& options,
                                            const ExperimentRun& run, int& exit_code);

/// What an experiment found.
struct Findings {
  experiments::Rows rows;
  std::vector<std::string> notes;
  tracer::Json json;
  experiments::Plot plot;
};

/// Prints the table, and writes table.md, table.json and plot.{gp,svg,png} into `out`.
/// Without gnuplot there is no picture, said in one line. Returns the exit code.
int report(const ExperimentOptions& options, const Findings& findings);

/// "4 virtual cpu devices of 1 thread each share 2 cores (PROCESSOR), 2026-01-31".
std::string machine_note(const ExperimentOptions& options);

/// Makes `out` and looks for `data`, if it was named. Throws with the fix.
void check_folders(const ExperimentOptions& options);

}  // namespace lockstep::cli

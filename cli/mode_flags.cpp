// Flags of the ways of sharing the work; run/validate_modes.cpp lists which mode reads
// which of them.
#include "cli/flags.h"

namespace lockstep::cli {
namespace {

void add_local_sgd_flags(CLI::App& c, run::LocalSgdConfig& o) {
  c.add_option("--local-steps", o.steps,
               "local-sgd: optimizer steps from one average of the weights to the next")
      ->check(Numbers(1, 1 << 30));
  c.add_option("--warmup-steps", o.warmup,
               "local-sgd: number of steps before the first average is due")
      ->check(Numbers(0, 1 << 30));
}

void add_pipeline_flags(CLI::App& c, run::PipelineConfig& o) {
  c.add_option(
      "--split", o.split,
      "model-parallel: the layers that begin a stage, such as layer2,layer3 or "
      "features.10,classifier");
  add_choice<run::PipelineKind>(c, "--pipeline-schedule", o.schedule,
                                "model-parallel: the order of the forward and backward "
                                "passes");
  c.add_option("--micro-batches", o.micro_batches,
               "model-parallel: parts of a batch that pass through the stages one by "
               "one (default: as many as stages)")
      ->check(Numbers(1, 1 << 20))
      ->default_str("");
  c.add_option("--virtual-stages", o.virtual_stages,
               "model-parallel, interleaved: number of stages per device")
      ->check(Numbers(1, 1 << 10));
  c.add_option("--schedule-file", o.schedule_file,
               "model-parallel: a schedule as CSV, one line per device: 0F0,0F1,0B0 …");
  c.add_option("--save-schedule", o.save_schedule,
               "model-parallel: write the schedule as CSV");
}

}  // namespace

void add_mode_flags(CLI::App& c, run::RunConfig& o) {
  add_local_sgd_flags(c, o.local_sgd);
  add_pipeline_flags(c, o.pipeline);
}

}  // namespace lockstep::cli

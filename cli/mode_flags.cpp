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

void add_shared_flags(CLI::App& c, run::SharedConfig& o) {
  add_choice<sharing::UpdateBy>(
      c, "--update", o.update,
      "hogwild: store: load, add, store, which may overwrite the updates of others; "
      "fetch-add: an indivisible addition");
  add_choice<sharing::LockFor>(
      c, "--lock", o.lock,
      "locked: hold the lock for the whole step, or only while "
      "weights are read and while they are updated");
  add_choice<run::Partition>(c, "--partition", o.partition,
                             "hogwild, locked: each worker's own part of the training "
                             "set, or all of it in an order of its own");
}

void add_ps_flags(CLI::App& c, run::PsConfig& o) {
  c.add_option("--servers", o.servers,
               "ps: number of parameter servers, on devices after the workers'")
      ->check(Numbers(1, 64));
  add_choice<sharing::Consistency>(
      c, "--consistency", o.consistency,
      "ps: sync: an update is the mean of all workers' gradients; async: each gradient "
      "is an update; ssp: as async, but no worker is more than --staleness steps "
      "ahead");
  c.add_option("--staleness", o.staleness,
               "ps --consistency ssp: steps by which a worker may be ahead of the "
               "slowest")
      ->check(Numbers(0, 1 << 30));
  c.add_option("--backup", o.backup,
               "ps --consistency sync: backup workers: an update does not wait for the "
               "last B gradients, and discards them")
      ->check(Numbers(0, 64));
  c.add_option("--slow-rank", o.slow_rank,
               "ps: emulates a slow worker: 2:3x makes each step of rank 2 take three "
               "times as long");
}

}  // namespace

void add_pipeline_flags(CLI::App& c, run::PipelineConfig& o) {
  c.add_option(
      "--split", o.split,
      "model-parallel: the layers that begin a stage, such as layer2,layer3 or "
      "features.10,classifier; auto, the default: measures the layers, then makes the "
      "slowest stage as fast as possible for --devices");
  add_choice<run::PipelineKind>(c, "--pipeline-schedule", o.schedule,
                                "model-parallel: the order of the forward and backward "
                                "passes; also as --schedule");
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
}

namespace {

bool names_pipeline_schedule(const std::string& word) {
  return run::value_of<run::PipelineKind>(word).has_value();
}

}  // namespace

void tell_schedules_apart(std::vector<std::string>& words) {
  const std::string flag = "--schedule", of_pipelines = "--pipeline-schedule";
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const bool joined = words[i].starts_with(flag + "=");
    if (joined && names_pipeline_schedule(words[i].substr(flag.size() + 1))) {
      words[i].replace(0, flag.size(), of_pipelines);
    }
    const bool followed = words[i] == flag && i + 1 < words.size();
    if (followed && names_pipeline_schedule(words[i + 1])) words[i] = of_pipelines;
  }
}

void add_mode_flags(CLI::App& c, run::RunConfig& o) {
  c.add_flag("--loss-in-forward", o.loss_in_forward,
             "dp-criterion: the replicas compute the loss in forward, and DataParallel "
             "gathers the scalars");
  add_local_sgd_flags(c, o.local_sgd);
  add_shared_flags(c, o.shared);
  add_ps_flags(c, o.ps);
  add_pipeline_flags(c, o.pipeline);
  c.add_option("--save-schedule", o.pipeline.save_schedule,
               "model-parallel: write the schedule as CSV");
}

}  // namespace lockstep::cli

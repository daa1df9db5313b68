#include "cli/emulate_pipeline.h"

#include <algorithm>

#include "engine/plan/chunk.h"
#include "run/auto_split.h"
#include "run/pipeline.h"
#include "tracer/emulate/construct/recorded_parts.h"

namespace lockstep::cli {
namespace {

/// Any network that has layers: the trace decides where it can be cut.
constexpr const char* kAnyArch = "resnet18";

run::RunConfig config_of(const PipelineFlags& flags) {
  run::RunConfig config;
  config.mode = train::Mode::model_parallel;
  config.model.arch = kAnyArch;
  config.pipeline = flags.config;
  config.given = flags.given;
  config.device.count = flags.devices;
  return config;
}

int micro_batches_of(const plan::PipelineSchedule& schedule) {
  int micro_batches = 1;
  for (const auto& rank : schedule) {
    for (const auto& action : rank) {
      micro_batches = std::max(micro_batches, action.micro_batch + 1);
    }
  }
  return micro_batches;
}

/// Throws UsageError if the flags do not describe a pipeline.
run::RunConfig valid_config_of(const PipelineFlags& flags) {
  run::RunConfig config = config_of(flags);
  config.recipe.batch_size =
      flags.batch > 0 ? flags.batch : micro_batches_of(run::schedule_of(config));
  run::validate_pipeline(config);
  return config;
}

}  // namespace

std::string choose_recorded_split(PipelineFlags& flags, const tracer::Trace& trace,
                                  const std::vector<const tracer::Trace*>& further) {
  if (!run::is_auto_split(flags.config.split)) return "";
  const run::RunConfig config = valid_config_of(flags);
  const plan::PipelineSchedule schedule = run::schedule_of(config);
  const int64_t largest =
      flags.batch == 0
          ? 0
          : plan::chunk_sizes(flags.batch, micro_batches_of(schedule)).front();
  std::vector<parallel::PartProfile> parts;
  for (const tracer::RecordedPart& part :
       tracer::recorded_parts(trace, further, largest)) {
    parts.push_back({part.name, part.forward_ns, part.backward_ns, part.output_bytes});
  }
  int stages = 0;
  for (const auto& rank : schedule) {
    for (const auto& action : rank) stages = std::max(stages, action.stage + 1);
  }
  const run::AutoSplit chosen = run::choose_split(std::move(parts), stages);
  flags.config.split = chosen.flag();
  return chosen.report(run::TimesFrom::recorded_step);
}

tracer::ConstructedPipeline pipeline_of_flags(const PipelineFlags& flags) {
  const run::RunConfig config = valid_config_of(flags);
  return {run::cuts_of(flags.config.split), run::schedule_of(config),
          run::name_of_schedule(config)};
}

void refuse_pipeline_flags(const PipelineFlags& flags, const std::string& mode) {
  if (flags.given.empty()) return;
  throw run::UsageError(*flags.given.begin() + " has no effect on --mode " + mode +
                        "; fix: omit it, or use --mode model-parallel");
}

}  // namespace lockstep::cli

#include "cli/emulate_pipeline.h"

#include <algorithm>

#include "run/auto_split.h"
#include "run/pipeline.h"

namespace lockstep::cli {
namespace {

/// Any network that has layers: the trace decides where it can be cut.
constexpr const char* kAnyArch = "resnet18";

}  // namespace

tracer::ConstructedPipeline pipeline_of_flags(const PipelineFlags& flags) {
  if (flags.config.split == run::kAutoSplit) {
    throw run::UsageError(
        "--split auto measures the layers of a model, but emulate runs none; fix: name "
        "the layers that begin a stage, such as --split layer2,layer3,layer4");
  }
  if (flags.config.split.empty()) {
    throw run::UsageError(
        "--mode model-parallel needs the layers that begin a stage; fix: name them, "
        "such as --split layer2,layer3,layer4");
  }
  run::RunConfig config;
  config.mode = train::Mode::model_parallel;
  config.model.arch = kAnyArch;
  config.pipeline = flags.config;
  config.given = flags.given;
  config.device.count = flags.devices;
  int micro_batches = 1;
  for (const auto& rank : run::schedule_of(config)) {
    for (const auto& action : rank) {
      micro_batches = std::max(micro_batches, action.micro_batch + 1);
    }
  }
  config.recipe.batch_size = flags.batch > 0 ? flags.batch : micro_batches;
  run::validate_pipeline(config);
  return {run::cuts_of(flags.config.split), run::schedule_of(config),
          run::name_of_schedule(config)};
}

void refuse_pipeline_flags(const PipelineFlags& flags, const std::string& mode) {
  if (flags.given.empty()) return;
  throw run::UsageError(*flags.given.begin() + " has no effect on --mode " + mode +
                        "; fix: omit it, or use --mode model-parallel");
}

}  // namespace lockstep::cli

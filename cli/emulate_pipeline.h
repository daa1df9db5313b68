// `lockstep emulate --mode model-parallel`: the pipeline that the flags describe.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "run/config.h"
#include "tracer/emulate/construct/construct.h"

namespace lockstep::cli {

/// What the flags of a pipeline say. They mean the same as those of `train`.
struct PipelineFlags {
  run::PipelineConfig config;
  std::set<std::string> given;  ///< names of flags: `--micro-batches`
  int devices = 0;              ///< 0: as many as follow from the others
  int64_t batch = 0;            ///< 0: not given
};

/// Replaces `--split auto` by the split that a recorded step's times make best, and
/// returns what to print about it: the stages, with their times. Returns "" if layers
/// are named. Throws as the function below does, and std::runtime_error as
/// tracer::recorded_parts().
std::string choose_recorded_split(PipelineFlags& flags, const tracer::Trace& trace,
                                  const std::vector<const tracer::Trace*>& further);

/// Throws UsageError, as `train` does, if the flags do not describe a pipeline. The
/// split must not be `auto`.
tracer::ConstructedPipeline pipeline_of_flags(const PipelineFlags& flags);

/// Throws UsageError that names a flag of pipelines if one was given.
void refuse_pipeline_flags(const PipelineFlags& flags, const std::string& mode);

}  // namespace lockstep::cli

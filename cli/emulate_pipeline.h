// `lockstep emulate --mode model-parallel`: the pipeline that the flags describe.
#pragma once

#include <set>
#include <string>

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

/// Throws UsageError, as `train` does, if the flags do not describe a pipeline.
tracer::ConstructedPipeline pipeline_of_flags(const PipelineFlags& flags);

/// Throws UsageError that names a flag of pipelines if one was given.
void refuse_pipeline_flags(const PipelineFlags& flags, const std::string& mode);

}  // namespace lockstep::cli

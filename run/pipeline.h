// The flags of `--mode model-parallel`, and the pipeline that they describe.
#pragma once

#include "run/config.h"
#include "run/rank_place.h"

namespace lockstep::run {

/// Returns the number of devices that the pipeline uses: its ranks. Throws UsageError
/// if it does not follow from the flags.
int pipeline_devices(const RunConfig& config);

/// Throws UsageError if the flags do not describe a pipeline. Whether the model can be
/// cut as they say is checked by pipeline_of().
void validate_pipeline(const RunConfig& config);

/// Returns the names in `layer2,layer3`.
std::vector<std::string> cuts_of(const std::string& split);

/// Returns the schedule that the flags describe, and its name (`1f1b`; `custom` from a
/// file). Throws UsageError if there is none.
plan::PipelineSchedule schedule_of(const RunConfig& config);
std::string name_of_schedule(const RunConfig& config);

/// Throws UsageError if a pipeline's ranks are processes, but not as many as it has
/// devices.
void require_rank_per_device(const RunConfig& config, int world);

/// With --split auto in one of several processes, there are as many devices as
/// processes, unless --devices says otherwise.
void adopt_number_of_ranks(RunConfig& config);

/// Returns "64 in 4 micro-batches of 16, 1f1b".
std::string describe_pipeline(const RunConfig& config);

/// Returns the pipeline for `model`, and writes --save-schedule. With --split auto,
/// measures the model with images of `image_shape` (C,H,W), and prints the split chosen
/// and why; if ranks are processes, rank 0 does so for all. Throws UsageError if the
/// model cannot be cut as requested.
parallel::PipelineOptions pipeline_of(const RunConfig& config, const nn::Module& model,
                                      const std::vector<int64_t>& image_shape = {},
                                      const RankPlace& place = {});

}  // namespace lockstep::run

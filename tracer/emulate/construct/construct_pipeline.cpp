#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "engine/plan/chunk.h"
#include "tracer/emulate/construct/recorded_batches.h"
#include "tracer/emulate/construct/repeat.h"
#include "tracer/emulate/construct/staged_program.h"

namespace lockstep::tracer {
namespace {

struct ScheduleSize {
  size_t stages = 0;
  int micro_batches = 0;
};

ScheduleSize size_of_schedule(const plan::PipelineSchedule& schedule) {
  ScheduleSize size;
  for (const auto& rank : schedule) {
    for (const plan::PipelineAction& action : rank) {
      size.stages = std::max(size.stages, static_cast<size_t>(action.stage) + 1);
      size.micro_batches = std::max(size.micro_batches, action.micro_batch + 1);
    }
  }
  return size;
}

/// Returns the batches of the micro-batches.
std::vector<int64_t> micro_batches_of(int64_t batch, int count) {
  const std::vector<int64_t> sizes = plan::chunk_sizes(batch, count);
  if (static_cast<int>(sizes.size()) == count) return sizes;
  throw std::runtime_error(fmt::format(
      "torch.chunk divides a batch of {} into {} micro-batches of at most {}, not into "
      "{}; fix: change --micro-batches or -b",
      batch, sizes.size(), sizes[0], count));
}

void require_stages(const ConstructedPipeline& pipeline, size_t stages) {
  if (stages == pipeline.cuts.size() + 1) return;
  throw std::runtime_error(
      fmt::format("the schedule has {} stages, but --split makes {}; fix: change "
                  "--split",
                  stages, pipeline.cuts.size() + 1));
}

}  // namespace

Trace construct_pipeline(const Trace& trace, const ConstructedProgram& program) {
  const ConstructedPipeline& pipeline = program.pipeline;
  const ScheduleSize size = size_of_schedule(pipeline.schedule);
  require_stages(pipeline, size.stages);
  const auto devices = static_cast<int>(pipeline.schedule.size());
  require_device_count(devices);
  const int64_t batch = program.batch == 0
                            ? recorded_step(trace).batch * size.micro_batches
                            : program.batch;
  std::map<int64_t, RecordedStep> by_batch;
  std::vector<const RecordedStep*> steps;
  for (const int64_t images : micro_batches_of(batch, size.micro_batches)) {
    if (!by_batch.contains(images)) {
      by_batch[images] = step_with_batch(trace, program.further, images);
    }
    steps.push_back(&by_batch[images]);
  }
  StagedProgram staged(steps, pipeline, device_type(trace.lockstep));
  Trace result;
  result.lockstep = trace.lockstep;
  result.other = trace.other;
  result.texts = trace.texts;
  result.events = staged.run();
  describe_devices(result.lockstep, devices, Ranks::one);
  result.lockstep[top::mode] = "model-parallel";
  ConstructedProgram described = program;
  described.devices = devices;
  Json& facts = result.lockstep[top::constructed] =
      constructed_facts(trace, described, batch);
  facts["split"] = pipeline.cuts;
  facts["schedule"] = pipeline.name;
  facts["micro_batches"] = size.micro_batches;
  return result;
}

}  // namespace lockstep::tracer

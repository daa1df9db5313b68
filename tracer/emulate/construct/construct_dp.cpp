#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include "engine/plan/chunk.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/construct/dp_program.h"
#include "tracer/emulate/construct/recorded_batches.h"
#include "tracer/emulate/construct/repeat.h"

namespace lockstep::tracer {

namespace {

/// Returns the step of the whole batch, in which device 0 runs what follows `features`.
RecordedStep whole_step(const Trace& trace, const ConstructedProgram& program,
                        int64_t batch) {
  const bool has_features = std::ranges::any_of(trace.events, [](const Event& event) {
    return event.is(categories::call) &&
           text_arg(event.args, keys::module) == "features";
  });
  if (!has_features) {
    throw std::runtime_error(
        "mode dp-features replicates the module `features`, which the recorded network "
        "does not have; fix: record -a vgg16 or -a alexnet, or choose mode dp");
  }
  try {
    return step_with_batch(trace, program.further, batch);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        std::string("after `features`, device 0 has the whole batch: ") + error.what());
  }
}

}  // namespace

Trace construct_dp(const Trace& trace, const ConstructedProgram& program) {
  require_device_count(program.devices);
  const int64_t batch =
      program.batch == 0 ? recorded_step(trace).batch * program.devices : program.batch;
  const std::vector<int64_t> chunks = plan::chunk_sizes(batch, program.devices);
  if (chunks.size() == 1 && program.devices > 1) {
    throw std::runtime_error(
        "one image cannot be shared; fix: choose a batch of at least 2");
  }
  std::map<int64_t, RecordedStep> by_chunk;
  std::vector<const RecordedStep*> steps;
  for (const int64_t chunk : chunks) {
    if (!by_chunk.contains(chunk)) {
      by_chunk[chunk] = step_with_batch(trace, program.further, chunk);
    }
    steps.push_back(&by_chunk[chunk]);
  }
  const bool criterion = program.mode == "dp-criterion";
  std::optional<RecordedStep> whole;
  if (program.mode == "dp-features") {
    whole = whole_step(trace, program, batch);
  }
  DpProgram dp(steps, program.devices, device_type(trace.lockstep), program.hardware,
               criterion ? LossOn::each_device : LossOn::first_device,
               whole ? &*whole : nullptr);
  Trace result;
  result.lockstep = trace.lockstep;
  result.other = trace.other;
  result.texts = trace.texts;
  result.events = dp.run();
  describe_devices(result.lockstep, program.devices, Ranks::one);
  result.lockstep[top::mode] = program.mode;
  result.lockstep[top::constructed] = constructed_facts(trace, program, batch);
  return result;
}

}  // namespace lockstep::tracer

#include <fmt/format.h>

#include <stdexcept>

#include "engine/plan/chunk.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/construct/dp_program.h"
#include "tracer/emulate/construct/repeat.h"

namespace lockstep::tracer {
namespace {

void require_equal_chunks(const RecordedStep& step,
                          const std::vector<int64_t>& chunks) {
  for (const int64_t chunk : chunks) {
    if (chunk == step.batch) continue;
    throw std::runtime_error(fmt::format(
        "the recorded step has a batch of {}, but a chunk of this program is {}: times "
        "of another batch would have to be guessed; fix: record a step with -b {}",
        step.batch, chunk, chunk));
  }
}

}  // namespace

Trace construct_dp(const Trace& trace, const ConstructedProgram& program) {
  const RecordedStep step = recorded_step(trace);
  require_device_count(program.devices);
  const int64_t batch =
      program.batch == 0 ? step.batch * program.devices : program.batch;
  const std::vector<int64_t> chunks = plan::chunk_sizes(batch, program.devices);
  require_equal_chunks(step, chunks);
  DpProgram dp(std::vector<const RecordedStep*>(chunks.size(), &step), program.devices,
               device_type(trace.lockstep));
  Trace result;
  result.lockstep = trace.lockstep;
  result.other = trace.other;
  result.texts = trace.texts;
  result.events = dp.run();
  describe_devices(result.lockstep, program.devices, Ranks::one);
  result.lockstep[top::mode] = "dp";
  result.lockstep[top::constructed] = {{"from", "single"},
                                       {"mode", "dp"},
                                       {"devices", program.devices},
                                       {"batch", batch}};
  return result;
}

}  // namespace lockstep::tracer

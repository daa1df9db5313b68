// The program of one rank of DistributedDataParallel, before it is repeated.
#pragma once

#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/construct/repeat.h"

namespace lockstep::tracer {

struct RankOfDdp {
  RecordedStep step;
  std::vector<Event> events;                    ///< of rank 0, without messages
  std::vector<RepeatedCollective> collectives;  ///< in the order of their calls
};

/// Throws as construct_ddp() does, but permits any number of devices.
RankOfDdp rank_of_ddp(const Trace& trace, const ConstructedProgram& program);

/// Returns the trace's description: mode, devices, and what is assumed.
void describe_ddp(Trace& result, const Trace& trace, const ConstructedProgram& program,
                  int64_t batch);

}  // namespace lockstep::tracer

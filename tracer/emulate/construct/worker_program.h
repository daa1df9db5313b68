// The program of one worker of parameter servers: the recorded step between a pull and
// a push.
#pragma once

#include "engine/plan/key_ranges.h"
#include "tracer/emulate/construct/rank_program.h"

namespace lockstep::tracer {

/// A kernel of a server, launched by the worker that pushes last.
struct ServerKernel {
  int64_t op = kNone, id = kNone;
  const char* name = "";
  int64_t bytes = 0, time = 0;      ///< of a server; ns
  const Event* recorded = nullptr;  ///< of the optimizer: the kernel that it divides
};

/// What a worker asks of a server. All ids are of the worker's own program.
struct ServerRequests {
  int64_t pull_op = kNone, pull = kNone, push_op = kNone, push = kNone;
  int64_t packed = kNone;             ///< the kernel that the push waits for
  std::vector<ServerKernel> kernels;  ///< of the last worker, in order
};

struct WorkerProgram {
  std::vector<Event> events;
  int64_t ids = 0;                        ///< above all of them
  std::vector<ServerRequests> of_server;  ///< by server
};

/// Returns the program of a worker. `update`: it pushes last, and adds the gradients of
/// so many workers; 0: it does not. The step must outlive the result.
WorkerProgram worker_program(const RecordedStep& step,
                             const std::vector<plan::KeyRange>& ranges, int update);

}  // namespace lockstep::tracer

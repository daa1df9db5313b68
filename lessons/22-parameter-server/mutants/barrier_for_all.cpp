// rejected by: after_the_update
// because: must not wait for the update
//
// The misconception: a barrier stops everybody while gradients are being collected. The
// worker that all wait for is stopped, too.

// [solution-pull]
if (options.consistency == Consistency::async) return true;
if (options.consistency == Consistency::sync) return server.arrived().empty();
for (const int other : server.workers()) {
  if (server.clock(worker) - server.clock(other) > options.staleness) return false;
}
return true;
// [/solution-pull]

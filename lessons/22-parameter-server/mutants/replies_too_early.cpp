// rejected by: after_the_update
// because: would send a second gradient
//
// The misconception: the push has arrived, so the worker may go on. It would compute
// with the weights of before the update.

// [solution-pull]
if (options.consistency == Consistency::async) return true;
if (options.consistency == Consistency::sync) return true;
for (const int other : server.workers()) {
  if (server.clock(worker) - server.clock(other) > options.staleness) return false;
}
return true;
// [/solution-pull]

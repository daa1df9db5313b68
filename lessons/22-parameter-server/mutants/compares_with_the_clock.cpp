// rejected by: too_late
// because: whatever became of earlier ones
//
// The misconception: a worker has made as many steps as there are updates. One whose
// gradients were discarded has not.

// [solution-pull]
if (options.consistency == Consistency::async) return true;
if (options.consistency == Consistency::sync) {
  return server.version() >= server.clock(worker);
}
for (const int other : server.workers()) {
  if (server.clock(worker) - server.clock(other) > options.staleness) return false;
}
return true;
// [/solution-pull]

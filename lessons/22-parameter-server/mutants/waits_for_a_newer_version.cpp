// rejected by: after_the_update
// because: nobody ever pushes
//
// The misconception: a worker waits for a version that it does not have. Before the
// first step there is none.

// [solution-pull]
if (options.consistency == Consistency::async) return true;
if (options.consistency == Consistency::sync) {
  return server.version() > server.read_version(worker);
}
for (const int other : server.workers()) {
  if (server.clock(worker) - server.clock(other) > options.staleness) return false;
}
return true;
// [/solution-pull]

// rejected by: not_too_far
// because: the bound is on clocks
//
// The misconception: a bound on staleness is one on how old the weights are. A worker
// with old weights would never get new ones.

// [solution-pull]
if (options.consistency == Consistency::async) return true;
if (options.consistency == Consistency::sync) {
  return !server.arrived().contains(worker);
}
for (const int other : server.workers()) {
  if (server.clock(worker) - server.clock(other) > options.staleness) return false;
}
return server.version() - server.read_version(worker) <= 20;
// [/solution-pull]

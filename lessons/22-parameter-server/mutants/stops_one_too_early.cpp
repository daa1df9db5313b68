// rejected by: not_too_far
// because: steps ahead is allowed
//
// The misconception: with staleness s a worker is stopped when it is s steps ahead.

// [solution-pull]
if (options.consistency == Consistency::async) return true;
if (options.consistency == Consistency::sync) {
  return !server.arrived().contains(worker);
}
for (const int other : server.workers()) {
  if (other == worker) continue;
  if (server.clock(worker) - server.clock(other) >= options.staleness) return false;
}
return true;
// [/solution-pull]

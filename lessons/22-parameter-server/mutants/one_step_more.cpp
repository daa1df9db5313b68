// rejected by: not_too_far
// because: when it pulls
//
// The misconception: the bound counts from the step that has been made to the one that
// is going to be made.

// [solution-pull]
if (options.consistency == Consistency::async) return true;
if (options.consistency == Consistency::sync) {
  return !server.arrived().contains(worker);
}
const int64_t bound = options.staleness + 1;
for (const int other : server.workers()) {
  if (server.clock(worker) - server.clock(other) > bound) return false;
}
return true;
// [/solution-pull]

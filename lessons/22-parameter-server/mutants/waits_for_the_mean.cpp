// rejected by: not_too_far
// because: of the slowest
//
// The misconception: ahead means ahead of the average worker.

// [solution-pull]
if (options.consistency == Consistency::async) return true;
if (options.consistency == Consistency::sync) {
  return !server.arrived().contains(worker);
}
int64_t sum = 0, count = 0;
for (const int other : server.workers()) sum += server.clock(other), ++count;
return count == 0 || server.clock(worker) - sum / count <= options.staleness;
// [/solution-pull]

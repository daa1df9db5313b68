// rejected by: not_too_far
// because: the numbers of the workers, not 0, 1
//
// The misconception: n workers have the numbers 0 to n − 1, also when some have left.

// [solution-pull]
if (options.consistency == Consistency::async) return true;
if (options.consistency == Consistency::sync) {
  return !server.arrived().contains(worker);
}
const int count = static_cast<int>(server.workers().size());
for (int other = 0; other < count; ++other) {
  if (server.clock(worker) - server.clock(other) > options.staleness) return false;
}
return true;
// [/solution-pull]

// rejected by: nobody_waits
// because: never waits for others
//
// The misconception: async needs a bound as well, or the slow ones never catch up.

// [solution-pull]
if (options.consistency == Consistency::sync) {
  return !server.arrived().contains(worker);
}
const int64_t bound = options.consistency == Consistency::ssp ? options.staleness : 10;
for (const int other : server.workers()) {
  if (server.clock(worker) - server.clock(other) > bound) return false;
}
return true;
// [/solution-pull]

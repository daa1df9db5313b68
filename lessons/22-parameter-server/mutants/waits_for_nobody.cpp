// rejected by: not_too_far
// because: nobody makes steps any more
//
// The misconception: somebody is always the slowest. When all others have come to their
// end, nobody is.

// [solution-pull]
if (options.consistency == Consistency::async) return true;
if (options.consistency == Consistency::sync) {
  return !server.arrived().contains(worker);
}
int64_t slowest = server.workers().empty() ? 0 : server.clock(worker);
for (const int other : server.workers()) {
  slowest = std::min(slowest, server.clock(other));
}
return server.clock(worker) - slowest <= options.staleness;
// [/solution-pull]

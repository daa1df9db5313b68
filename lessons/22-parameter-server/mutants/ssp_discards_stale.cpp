// rejected by: of_its_own
// because: It is stale, but
//
// The misconception: the bound is on gradients, and one beyond it is discarded.

// [solution-async]
if (options.consistency == Consistency::ssp &&
    server.version() - server.read_version(worker) > options.staleness) {
  server.discard(worker);
  return;
}
if (options.consistency != Consistency::sync) {
  server.update({worker}, 1);
  return;
}
// [/solution-async]

// rejected by: of_its_own
// because: It is stale, but
//
// The misconception: a stale gradient is a wrong one. Without stale gradients nothing
// is asynchronous.

// [solution-async]
if (server.read_version(worker) != server.version()) {
  server.discard(worker);
  return;
}
if (options.consistency != Consistency::sync) {
  server.update({worker}, 1);
  return;
}
// [/solution-async]

// rejected by: too_late
// because: fewer than there are
//
// The misconception: an update always waits for all workers.

// [solution-sync]
if (server.read_version(worker) != server.version()) {
  server.discard(worker);
  return;
}
const std::set<int> arrived = server.arrived();
if (arrived.size() < server.workers().size()) return;
server.update(arrived, 1.0 / static_cast<double>(arrived.size()));
return;
// [/solution-sync]

// rejected by: who_has_left
// because: who has left was the reserve
//
// The misconception: an update always waits for all workers but `backup` of them, also
// when a worker has left and there is no reserve any more.

// [solution-sync]
if (server.read_version(worker) != server.version()) return server.discard(worker);
const std::set<int> arrived = server.arrived();
if (arrived.size() + static_cast<size_t>(options.backup) < server.workers().size()) {
  return;
}
server.update(arrived, 1.0 / static_cast<double>(arrived.size()));
return;
// [/solution-sync]

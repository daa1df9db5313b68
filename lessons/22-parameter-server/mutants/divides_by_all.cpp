// rejected by: too_late
// because: divide by their number
//
// The misconception: a mean is over the workers, also over those that are not in it.

// [solution-sync]
if (server.read_version(worker) != server.version()) {
  server.discard(worker);
  return;
}
const std::set<int> arrived = server.arrived();
if (arrived.size() < server.needed()) return;
server.update(arrived, 1.0 / static_cast<double>(server.workers().size()));
return;
// [/solution-sync]

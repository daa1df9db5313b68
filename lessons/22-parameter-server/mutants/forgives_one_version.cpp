// rejected by: too_late
// because: an update would mix gradients for different weights
//
// The misconception: with one backup worker, a gradient may be one version old.

// [solution-sync]
if (server.version() - server.read_version(worker) > 1) {
  return server.discard(worker);
}
const std::set<int> arrived = server.arrived();
if (arrived.size() < server.needed()) return;
server.update(arrived, 1.0 / static_cast<double>(arrived.size()));
return;
// [/solution-sync]

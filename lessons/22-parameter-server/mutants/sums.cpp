// rejected by: all_of_them
// because: N times as far
//
// The misconception: an update is the sum. (It is in MXNet, whose workers are told to
// divide, by rescale_grad.)

// [solution-sync]
if (server.read_version(worker) != server.version()) {
  server.discard(worker);
  return;
}
const std::set<int> arrived = server.arrived();
if (arrived.size() < server.needed()) return;
server.update(arrived, 1);
return;
// [/solution-sync]

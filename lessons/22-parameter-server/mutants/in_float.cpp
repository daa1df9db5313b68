// rejected by: all_of_them
// because: but as a float, with 7 digits
//
// The misconception: a float is exact enough.

// [solution-sync]
  if (server.read_version(worker) != server.version()) return server.discard(worker);
  const std::set<int> arrived = server.arrived();
  if (arrived.size() < server.needed()) return;
  server.update(arrived, 1.0f / static_cast<float>(arrived.size()));
  return;
// [/solution-sync]

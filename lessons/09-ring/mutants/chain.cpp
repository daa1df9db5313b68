// rejected by: two_ranks
// because: a rank that omits one makes its neighbour wait
//
// The misconception: the last rank has no next one; a chain is enough.

// [solution-reduce-scatter]
const int rank = link.rank(), world = link.size();
for (int step = 0; step < world - 1; ++step) {
  if (rank == world - 1) continue;
  const int sent = (rank - 1 - step + 2 * world) % world;
  const int received = (sent - 1 + world) % world;
  link.exchange(chunk(data, sent, world), chunk(data, received, world), true);
}
return;
// [/solution-reduce-scatter]

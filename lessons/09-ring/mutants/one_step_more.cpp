// rejected by: traffic
// because: takes N-1 = 3 steps, not N
//
// The misconception: N chunks need N steps.

// [solution-all-gather]
const int rank = link.rank(), world = link.size();
for (int step = 0; step < world; ++step) {
  const int sent = (rank - step + world) % world;
  const int received = (sent - 1 + world) % world;
  link.exchange(chunk(data, sent, world), chunk(data, received, world), false);
}
return;
// [/solution-all-gather]

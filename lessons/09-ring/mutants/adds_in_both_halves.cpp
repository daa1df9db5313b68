// rejected by: two_ranks
// because: it replaces yours (adds = false)
//
// The misconception: a ring adds, always.

// [solution-all-gather]
const int rank = link.rank(), world = link.size();
for (int step = 0; step < world - 1; ++step) {
  const int sent = (rank - step + world) % world;
  const int received = (sent - 1 + world) % world;
  link.exchange(chunk(data, sent, world), chunk(data, received, world), true);
}
return;
// [/solution-all-gather]

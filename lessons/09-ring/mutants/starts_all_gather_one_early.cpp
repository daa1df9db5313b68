// rejected by: two_ranks
// because: shares are missing
//
// The misconception: the second half begins with the same chunk as the first. But the
// chunk that is finished here is the one that arrived last.

// [solution-all-gather]
const int rank = link.rank(), world = link.size();
for (int step = 0; step < world - 1; ++step) {
  const int sent = (rank - 1 - step + 2 * world) % world;
  const int received = (sent - 1 + world) % world;
  link.exchange(chunk(data, sent, world), chunk(data, received, world), false);
}
return;
// [/solution-all-gather]

// rejected by: traffic
// because: No barrier is needed
//
// The misconception: all ranks must have finished the first half before the second
// begins.

// [solution-all-gather]
const int rank = link.rank(), world = link.size();
if (world > 1) link.exchange(data.part(0, 0), data.part(0, 0), false);
for (int step = 0; step < world - 1; ++step) {
  const int sent = (rank - step + world) % world;
  const int received = (sent - 1 + world) % world;
  link.exchange(chunk(data, sent, world), chunk(data, received, world), false);
}
return;
// [/solution-all-gather]

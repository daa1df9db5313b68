// rejected by: first_half
// because: must end with chunk rank()
//
// Both halves fit together, one chunk further than the first promises.

// [solution-reduce-scatter]
const int rank = link.rank(), world = link.size();
for (int step = 0; step < world - 1; ++step) {
  const int sent = (rank - step + world) % world;
  const int received = (sent - 1 + world) % world;
  link.exchange(chunk(data, sent, world), chunk(data, received, world), true);
}
return;
// [/solution-reduce-scatter]
// [solution-all-gather]
const int rank = link.rank(), world = link.size();
for (int step = 0; step < world - 1; ++step) {
  const int sent = (rank + 1 - step + world) % world;
  const int received = (sent - 1 + world) % world;
  link.exchange(chunk(data, sent, world), chunk(data, received, world), false);
}
return;
// [/solution-all-gather]

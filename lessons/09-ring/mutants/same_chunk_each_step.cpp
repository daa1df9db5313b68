// rejected by: more_ranks
// because: the next one to send is the one that has just arrived
//
// The misconception: a rank is responsible for one chunk and sends it in each step.
// With two ranks, and so one step a half, nobody notices.

// [solution-reduce-scatter]
const int rank = link.rank(), world = link.size();
const int sent = (rank - 1 + world) % world;
const int received = (sent - 1 + world) % world;
for (int step = 0; step < world - 1; ++step) {
  link.exchange(chunk(data, sent, world), chunk(data, received, world), true);
}
return;
// [/solution-reduce-scatter]

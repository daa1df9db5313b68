// rejected by: two_ranks
// because: in C++ -1 % 4 is -1
//
// The misconception: % never gives a negative number, as in Python.

// [solution-reduce-scatter]
const int rank = link.rank(), world = link.size();
for (int step = 0; step < world - 1; ++step) {
  const int sent = (rank - 1 - step) % world;
  const int received = (sent - 1) % world;
  link.exchange(chunk(data, sent, world), chunk(data, received, world), true);
}
return;
// [/solution-reduce-scatter]

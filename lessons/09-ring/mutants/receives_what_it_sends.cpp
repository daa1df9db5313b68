// rejected by: remainder
// because: the one to the left of the chunk that you send
//
// The misconception: in a step all ranks handle the chunk of the same length. With
// equal chunks this cannot be told from a chunk in the wrong place, so this learner
// lets the message decide where it goes, and takes its own chunk's length.

// [solution-reduce-scatter]
const int rank = link.rank(), world = link.size();
for (int step = 0; step < world - 1; ++step) {
  const int sent = (rank - 1 - step + 2 * world) % world;
  const int received = (sent - 1 + world) % world;
  Buffer in = chunk(data, received, world);
  in.numel = chunk(data, sent, world).numel;
  link.exchange(chunk(data, sent, world), in, true);
}
return;
// [/solution-reduce-scatter]

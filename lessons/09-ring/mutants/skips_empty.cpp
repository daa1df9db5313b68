// rejected by: empty_chunks
// because: not even with an empty chunk
//
// The misconception: a rank with nothing to send may skip a step.

// [solution-reduce-scatter]
const int rank = link.rank(), world = link.size();
for (int step = 0; step < world - 1; ++step) {
  const int sent = (rank - 1 - step + 2 * world) % world;
  const int received = (sent - 1 + world) % world;
  if (chunk(data, sent, world).numel == 0) continue;
  link.exchange(chunk(data, sent, world), chunk(data, received, world), true);
}
return;
// [/solution-reduce-scatter]

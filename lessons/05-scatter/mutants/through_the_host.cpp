// rejected by: from_a_device
// because: no chunk passes through the host
//
// The misconception: the batch always comes from main memory: one that is on a device
// already is fetched to the host first.

// [solution-scatter]
const Tensor batch = ops::copy_to(input, kHost, {"d2h", "images"});
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  const Device to = devices[chunks.size()];
  chunks.push_back(
      ops::copy_to(batch.narrowed(first, count), to, {"scatter", "images"}));
  first += count;
}
return chunks;
// [/solution-scatter]

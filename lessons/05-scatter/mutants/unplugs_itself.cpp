// rejected by: bytes_once
// because: must be written here, not called
//
// In a training run it leaves the slot, and calls it.

// [solution-scatter]
if (input.dim() == 4) {
  parallel::primitives().scatter.unplug();
  return parallel::primitives().scatter(input, devices);
}
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  const Device to = devices[chunks.size()];
  chunks.push_back(
      ops::copy_to(input.narrowed(first, count), to, {"scatter", "images"}));
  first += count;
}
return chunks;
// [/solution-scatter]

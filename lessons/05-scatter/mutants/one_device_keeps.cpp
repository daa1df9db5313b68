// rejected by: right_samples
// because: chunk i must be copied to device i
//
// The misconception: with one device there is nothing to scatter: the input is returned
// as it is, on the host.

// [solution-scatter]
if (devices.size() == 1) return {input};
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

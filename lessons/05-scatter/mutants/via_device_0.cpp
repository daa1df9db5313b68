// rejected by: bytes_once
// because: straight from the host to its device
//
// The misconception: the batch goes to device 0 first, which hands it out.

// [solution-scatter]
const Tensor on_0 = ops::copy_to(input, devices[0], {"scatter", "images"});
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  const Device to = devices[chunks.size()];
  chunks.push_back(
      ops::copy_to(on_0.narrowed(first, count), to, {"scatter", "images"}));
  first += count;
}
return chunks;
// [/solution-scatter]

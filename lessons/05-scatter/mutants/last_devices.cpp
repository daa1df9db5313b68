// rejected by: any_size
// because: the first devices get the chunks
//
// The misconception: where there are fewer chunks than devices, the last devices are
// used, to spare the busy device 0.

// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
const std::vector<int64_t> sizes = chunk_sizes(input.size(0), std::ssize(devices));
size_t next = devices.size() - sizes.size();
for (int64_t count : sizes) {
  const Device to = devices[next++];
  chunks.push_back(
      ops::copy_to(input.narrowed(first, count), to, {"scatter", "images"}));
  first += count;
}
return chunks;
// [/solution-scatter]

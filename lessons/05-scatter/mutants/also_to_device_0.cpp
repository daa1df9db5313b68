// rejected by: bytes_once
// because: straight from the host to its device
//
// The misconception: device 0 leads, so it needs a copy of every chunk.

// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  const Device to = devices[chunks.size()];
  chunks.push_back(
      ops::copy_to(input.narrowed(first, count), to, {"scatter", "images"}));
  ops::copy_to(chunks.back(), devices[0], {"gather", "images"});
  first += count;
}
return chunks;
// [/solution-scatter]

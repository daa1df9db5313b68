// rejected by: bytes_once
// because: a chunk travels twice
//
// The misconception: only what is labelled as scatter costs bytes.

// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  const Device to = devices[chunks.size()];
  ops::copy_to(input, to, {"h2d", "images"});
  chunks.push_back(
      ops::copy_to(input.narrowed(first, count), to, {"scatter", "images"}));
  first += count;
}
return chunks;
// [/solution-scatter]

// rejected by: bytes_once
// because: cut first, then send
//
// The misconception: send the batch, let each device take its part.

// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  const Tensor all = ops::copy_to(input, devices[chunks.size()], {"scatter", "images"});
  chunks.push_back(all.narrowed(first, count));
  first += count;
}
return chunks;
// [/solution-scatter]
